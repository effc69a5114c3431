"""The sizes a model comes in: one frozen config, one function a preset."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

from dataset.bounds import problems, setting

C = TypeVar("C")  # the config dataclass of any kind of network


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """Everything that decides the shape of a network; lies beside its weights as JSON."""

    kind: str = setting("transformer", "Which network is built.", choices=("transformer",))
    preset: str = setting("base", "The name this config started from.")
    d_model: int = setting(256, "Width of every token.", minimum=8, maximum=4096)
    heads: int = setting(8, "Attention heads; they share d_model.", minimum=1, maximum=64)
    layers: int = setting(4, "Transformer layers.", minimum=1, maximum=48)
    d_ff: int = setting(1024, "Width inside a feed-forward.", minimum=8, maximum=16384)
    scales: tuple[int, ...] = setting((1, 3, 5), "Bars that keys and values are pooled over.", minimum=1, maximum=60)
    token_bars: int = setting(5, "Bars that one token of the layers stands for.", minimum=1, maximum=60, unit="bars")
    pivot_levels: tuple[int, ...] = setting((1, 2, 3), "Levels of nested pivots predicted.", minimum=1, maximum=5)
    dropout: float = setting(0.1, "Share of values dropped in training.", minimum=0.0, maximum=0.9)
    streams: int = setting(5, "Candle streams: timeframes plus the reference symbol.", minimum=1, maximum=16)
    seq_len: int = setting(200, "Candles a stream; other lengths work too.", minimum=10, maximum=600, unit="bars")
    cob_features: int = setting(100, "Order book features of a candle.", minimum=1, maximum=4096)
    tech_features: int = setting(40, "Technical indicators.", minimum=1, maximum=4096)
    market_features: int = setting(30, "Market features.", minimum=1, maximum=4096)
    position_features: int = setting(5, "Features of the open position.", minimum=1, maximum=4096)
    pattern_hidden: tuple[int, ...] = setting((128,), "Hidden widths of the candle encoder.", minimum=1, maximum=8192)
    qkv_hidden: int = setting(0, "Hidden width of q, k and v; 0 = a single layer.", minimum=0, maximum=8192)
    cross_layers: int = setting(1, "Layers of cross-timeframe attention.", minimum=1, maximum=8)
    adaptive_norm: bool = setting(True, "Whether the context scales and shifts the norms of the layers.")
    action_hidden: tuple[int, ...] = setting((128,), "Hidden widths of the action head.", minimum=1, maximum=8192)
    head_hidden: tuple[int, ...] = setting((128,), "Hidden widths of the other heads.", minimum=1, maximum=8192)

    def __post_init__(self) -> None:
        found = problems(self)
        if not found and self.d_model % (2 * self.heads):
            found.append(f"d_model is {self.d_model}, expected a multiple of 2 x heads = {2 * self.heads}")
        for name in ("scales", "pivot_levels"):
            values = getattr(self, name)
            if not found and (not values or list(values) != sorted(set(values))):
                found.append(f"{name} is {values}, expected rising numbers")
        if found:
            raise ValueError("; ".join(found))


def base() -> ModelConfig:
    """The default: fits a laptop with an 8 GB GPU, or the CPU."""
    return ModelConfig()


def wide() -> ModelConfig:
    """Wider and one layer deeper, for more data than a few hundred samples."""
    return replace(base(), preset="wide", d_model=320, layers=5, d_ff=1280)


def lite() -> ModelConfig:
    """Ultra-light: a narrower and shallower `base`."""
    return replace(base(), preset="lite", d_model=192, heads=6, layers=3, d_ff=768)


def legacy() -> ModelConfig:
    """The model that `base` replaced, as its architecture was listed: counted and planned, not meant to be trained."""
    return replace(
        base(),
        preset="legacy",
        d_model=1024,
        heads=16,
        layers=12,
        d_ff=4096,
        scales=(1, 3, 5, 7, 11, 15),
        pivot_levels=(1, 2, 3, 4, 5),
        pattern_hidden=(256, 512),
        qkv_hidden=2048,
        cross_layers=2,
        adaptive_norm=False,
        action_hidden=(1024, 512),
        head_hidden=(512, 256),
    )


PRESETS: dict[str, Callable[[], ModelConfig]] = {"base": base, "wide": wide, "lite": lite, "legacy": legacy}

# Parameters as the documentation of each preset states them; the true count is shown beside, never instead.
DOCUMENTED: dict[str, int] = {"base": 7_932_096, "wide": 12_000_000, "lite": 5_000_000, "legacy": 46_000_000}


def preset(name: str) -> ModelConfig:
    """The config of a named preset.

    Raises ValueError for an unknown name.
    """
    if name not in PRESETS:
        raise ValueError(f"model preset is {name!r}, expected one of {', '.join(PRESETS)}")
    return PRESETS[name]()


def adapted(config: C, **sizes: Any) -> C:
    """The config with those of the given sizes that its kind of network has."""
    known = {entry.name for entry in fields(config)}  # type: ignore[arg-type]
    return replace(config, **{name: value for name, value in sizes.items() if name in known})  # type: ignore[type-var]


def fitted(config: C, samples: Mapping[str, Any]) -> C:
    """The config with its input and label sizes taken from sample arrays, so that both always agree."""
    return adapted(
        config,
        streams=samples["price_data"].shape[1],
        seq_len=samples["price_data"].shape[2],
        cob_features=samples["cob_data"].shape[2],
        tech_features=samples["tech_data"].shape[1],
        market_features=samples["market_data"].shape[1],
        position_features=samples["position_state"].shape[1],
        pivot_levels=tuple(range(1, samples["pivots"].shape[1] + 1)),
    )


def to_dict(config: Any) -> dict[str, Any]:
    """The config as plain JSON values."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}


def from_dict(values: Mapping[str, Any], config: type[Any] = ModelConfig) -> Any:
    """The config that `to_dict` wrote.

    Raises ValueError for an unknown field or a value out of bounds.
    """
    unknown = sorted(set(values) - {entry.name for entry in fields(config)})
    if unknown:
        raise ValueError(f"model config has the unknown field {unknown[0]!r}")
    plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return config(**plain)
