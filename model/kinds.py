"""The kinds of network: what each one's config is called, and which presets it comes in."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from model import cnn_presets, dqn_presets, presets
from model.cnn_presets import CnnConfig
from model.dqn_presets import DqnConfig
from model.presets import ModelConfig

NetworkConfig: TypeAlias = ModelConfig | CnnConfig | DqnConfig

CONFIGS: dict[str, type[Any]] = {"transformer": ModelConfig, "cnn": CnnConfig, "dqn": DqnConfig}
PRESETS: dict[str, Mapping[str, Callable[[], NetworkConfig]]] = {
    "transformer": presets.PRESETS,
    "cnn": cnn_presets.PRESETS,
    "dqn": dqn_presets.PRESETS,
}
PRESET_NAMES = tuple(dict.fromkeys(name for known in PRESETS.values() for name in known))


def preset(kind: str, name: str) -> NetworkConfig:
    """The config of a named preset of a kind.

    Raises ValueError for an unknown kind, and for a preset that this kind does not have.
    """
    _refuse_unknown(kind)
    if name not in PRESETS[kind]:
        raise ValueError(f"{kind} has no preset {name!r}, expected one of {', '.join(PRESETS[kind])}")
    return PRESETS[kind][name]()


def from_dict(values: Mapping[str, Any]) -> NetworkConfig:
    """The config that `presets.to_dict` wrote, whatever its kind.

    Raises ValueError for an unknown kind, an unknown field or a value out of bounds.
    """
    kind = values.get("kind", "transformer")
    _refuse_unknown(kind)
    found: NetworkConfig = presets.from_dict(values, CONFIGS[kind])
    return found


def title(kind: str, preset: str) -> str:
    """A network in words: the preset, after its kind where that is not the usual one."""
    return preset if kind == "transformer" else f"{kind} {preset}"


def _refuse_unknown(kind: Any) -> None:
    if kind not in PRESETS:
        raise ValueError(f"kind of network is {kind!r}, expected one of {', '.join(PRESETS)}")
