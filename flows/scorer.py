"""The registered model as MLflow serves it: code and safetensors, no pickle.

MLflow copies this file into each version.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, PythonModelContext

from model.serving import Predictor


class Scorer(PythonModel):
    """Answers unscaled sample fields with an action, its probabilities and the other heads, a row a sample."""

    def load_context(self, context: PythonModelContext) -> None:
        self.predictor = Predictor(Path(context.artifacts["model"]))

    _skip_type_hint_validation = True  # the signature says it all; else MLflow asks for hints it cannot read

    def predict(self, context: PythonModelContext, model_input, params=None) -> pd.DataFrame:  # type: ignore[no-untyped-def]
        answer = self.predictor.predict(
            {name: np.asarray(value, dtype=np.float32) for name, value in model_input.items()}
        )
        columns = {"action": answer["action"]}
        columns |= {f"p_{name}": answer["probabilities"][:, i] for i, name in enumerate(("hold", "buy", "sell"))}
        others = ("confidence", "price", "trade_success")  # a network without such a head does not answer it
        columns |= {name: np.ravel(answer[name]) for name in others if name in answer}
        return pd.DataFrame(columns)


set_model(Scorer())
