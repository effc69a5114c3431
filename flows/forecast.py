"""What memory a training will need, worked out before it begins and shown beside what was measured."""

import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from dataset.samples import load_samples
from flows.curves import PLAN
from flows.params import Params
from model.amount import amount
from model.batches import SPLITS, auto_size
from model.device import choose
from model.dqn_plan import plan_dqn
from model.dqn_presets import DqnConfig
from model.kinds import NetworkConfig
from model.plan import Plan, plan
from model.shortage import remedy, there
from model.verdict import FITS, TOO_LARGE, word

OUT = Path("artifacts")


def batch_size(params: Params, samples: dict[str, np.ndarray]) -> int:
    wanted = params.train.batch_size
    return auto_size(count(samples, "train")) if isinstance(wanted, str) else wanted


def count(samples: dict[str, np.ndarray], split: str) -> int:
    return int((samples["split"] == SPLITS[split]).sum())


def memory_plan(params: Params, config: NetworkConfig, samples: dict[str, np.ndarray]) -> Plan:
    """What the run will need, worked out before it begins; its random numbers are not touched."""
    counts, train = (count(samples, "train"), count(samples, "validation")), params.train
    if isinstance(config, DqnConfig):
        return plan_dqn(train, config, params.dqn, load_samples(OUT / "episodes.npz"), counts)
    batch = min(batch_size(params, samples), counts[0])
    return plan(config, batch, config.seq_len, train.precision, train.checkpointing, samples=counts)


def forecast(params: Params, config: NetworkConfig, samples: dict[str, np.ndarray], journal: Path) -> Plan:
    """The run's memory plan; made once a run, for it takes seconds, and kept in the journal for further attempts."""
    kept, key = journal / PLAN, digest_of(params, config, samples)
    found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if found.get("key") == key:
        return Plan(config=config, **found["plan"] | {"samples": tuple(found["plan"]["samples"])})
    planned = memory_plan(params, config, samples)
    numbers = {entry.name: getattr(planned, entry.name) for entry in fields(Plan) if entry.name != "config"}
    journal.mkdir(exist_ok=True)
    peak = {"peak_bytes": planned.predicted_bytes}
    kept.write_text(json.dumps({"key": key, "plan": numbers, **peak}), encoding="utf-8")
    return planned


def digest_of(params: Params, config: NetworkConfig, samples: dict[str, np.ndarray]) -> str:
    """What the plan depends on: settings and shapes."""
    shapes = {name: values.shape for name, values in samples.items()}
    counts = count(samples, "train"), count(samples, "validation")
    return hashlib.sha256(repr((params.train, params.dqn, config, shapes, counts)).encode()).hexdigest()


def before(params: Params, planned: Plan) -> str:
    """What is predicted, and whether the device has it; a run that does not fit is tried all the same, and told so."""
    device = choose(params.train.device)
    total = there(device)[1]
    judged = word(planned, total)
    said = f"memory: {amount(planned.predicted_bytes)} predicted at the peak, {judged} on {device.kind}"
    if judged == FITS:
        return said
    tried = ", and is tried all the same" if judged == TOO_LARGE else ""
    return f"{said} with {amount(total)}{tried}; {remedy(params.train)}"


def memory(planned: Plan, measured: dict[str, Any]) -> dict[str, Any]:
    """Predicted beside measured bytes, and by which share the prediction was off."""
    found = {"predicted_bytes": planned.predicted_bytes, **measured}
    if measured.get("measured_bytes"):
        found["error"] = round(planned.predicted_bytes / measured["measured_bytes"] - 1, 4)
    return found
