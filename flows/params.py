"""`params.yaml`: the one place that reads it. A section's name is its stage's name; an unknown key is an error."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from dataset.bounds import check, setting
from dataset.samples import PreprocessConfig
from flows import plain_yaml
from flows.plain_yaml import parse_value
from model.dqn_recipe import DqnRecipe
from model.kinds import PRESET_NAMES, PRESETS, NetworkConfig, preset
from model.presets import adapted
from model.recipe import TrainConfig

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelParams:
    """Which network a run trains; everything else about it follows from the preset and the samples."""

    kind: str = setting("transformer", "kind of network", choices=tuple(PRESETS))
    preset: str = setting("base", "size of the network", choices=PRESET_NAMES)
    dropout: float = setting(0.1, "share of activations dropped in training; none in a dqn", minimum=0.0, maximum=0.9)

    def __post_init__(self) -> None:
        check(self)
        preset(self.kind, self.preset)


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluateConfig:
    """How the test split is judged."""

    batch_size: int = setting(32, "samples a forward pass", minimum=1, maximum=512, unit="samples")

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisterConfig:
    """Where a trained model is registered."""

    name: str = setting("pivotline", "name of the registered model")

    def __post_init__(self) -> None:
        check(self)
        if not MODEL_NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}, expected up to 100 letters, digits, '.', '_' and '-'")


@dataclass(frozen=True, kw_only=True, slots=True)
class PruneConfig:
    """What is kept of an ended run's checkpoints, and how much room the project may take."""

    keep_last: int = setting(1, "newest checkpoints kept beside the best", minimum=1, maximum=100)
    keep_best: int = setting(1, "best checkpoints by validation score kept beside the newest", minimum=1, maximum=100)
    disk_budget_gb: float = setting(
        50.0, "room for state/ and the dataset cache; no run starts over it", minimum=0.01, maximum=1e6, unit="GB"
    )

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    """What becomes of a run of the queue that crashes."""

    retries: int = setting(0, "times a crashed run goes on by itself from its newest checkpoint", minimum=0, maximum=10)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Params:
    """All settings of a run, a section a stage; `dqn` belongs to `train`, for the kind of network that acts."""

    preprocess: PreprocessConfig = field(default_factory=PreprocessConfig)
    model: ModelParams = field(default_factory=ModelParams)
    train: TrainConfig = field(default_factory=TrainConfig)
    dqn: DqnRecipe = field(default_factory=DqnRecipe)
    evaluate: EvaluateConfig = field(default_factory=EvaluateConfig)
    register: RegisterConfig = field(default_factory=RegisterConfig)
    prune: PruneConfig = field(default_factory=PruneConfig)
    run: RunConfig = field(default_factory=RunConfig)


def load_params(path: Path) -> Params:
    """The settings in `path`.

    Raises ValueError naming the file with every unknown section, unknown key and value out of bounds.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; expected the settings of the run") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not YAML: {error}") from None
    try:
        return change(Params(), plain_yaml.read(text))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def change(params: Params, changes: Any) -> Params:
    """`params` with `changes` (section -> key -> value) applied.

    Raises one ValueError with everything that is wrong.
    """
    if not isinstance(changes, Mapping):
        got = "nothing" if changes is None else f"a {type(changes).__name__}"
        raise ValueError(f"expected sections such as train, got {got}")
    known = {section.name for section in fields(Params)}
    wrong = [
        f"unknown section '{name}', expected one of {', '.join(sorted(known))}" for name in changes if name not in known
    ]
    sections = {}
    for name, values in changes.items():
        if name in known:
            try:
                sections[name] = change_section(name, getattr(params, name), values)
            except ValueError as error:
                wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong))
    return replace(params, **sections)


def change_section(name: str, section: Any, values: Any) -> Any:
    if not isinstance(values, Mapping):
        raise ValueError(f"{name}: expected keys and values, got {values!r}")
    known = {entry.name: entry for entry in fields(section)}
    unknown = [key for key in values if key not in known]
    if unknown:
        raise ValueError(
            "; ".join(f"unknown key {name}.{key}" for key in unknown) + f"; {name} knows {', '.join(known)}"
        )
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    try:
        return replace(section, **plain)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def parse_change(text: str) -> dict[str, dict[str, Any]]:
    """`train.epochs=3` as {"train": {"epochs": 3}}; the value is read as YAML."""
    name, sign, value = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (sign and dot and section and key):
        raise ValueError(f"--set {text}: expected section.key=value, such as train.epochs=3")
    try:
        return {section: {key: parse_value(value)}}
    except ValueError as error:
        raise ValueError(f"--set {text.strip()}: {error}") from None


def merge(changes: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """All changes as one. Raises ValueError for a setting that is given two values."""
    merged: dict[str, dict[str, Any]] = {}
    for entry in changes:
        for section, values in entry.items():
            known = merged.setdefault(section, {})
            for name in known.keys() & values.keys():
                first, second = known[name], values[name]
                if first != second:
                    raise ValueError(f"--set {section}.{name} is given as {first} and as {second}: keep one")
            known.update(values)
    return merged


def as_dict(params: Params) -> dict[str, dict[str, Any]]:
    """Plain sections of plain values, as they stand in `params.yaml`."""
    plain = asdict(params)
    return {
        name: {key: list(value) if isinstance(value, tuple) else value for key, value in section.items()}
        for name, section in plain.items()
    }


def write_params(path: Path, params: Params) -> None:
    path.write_text(yaml.safe_dump(as_dict(params), sort_keys=False), encoding="utf-8")


def model_config(params: Params) -> NetworkConfig:
    """The network's config before the samples are known: its preset with the run's own settings."""
    return adapted(
        preset(params.model.kind, params.model.preset),
        dropout=params.model.dropout,
        pivot_levels=tuple(range(1, params.preprocess.pivot_levels + 1)),
        seq_len=params.preprocess.seq_len,
        window_bars=params.preprocess.episode_window,
    )
