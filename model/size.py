"""How large a network is: counted on the meta device, part by part, never from a table."""

from dataclasses import dataclass

import torch
from torch import nn

from model.kinds import NetworkConfig, title
from model.networks import build
from model.presets import DOCUMENTED

FP32_BYTES, FP16_BYTES = 4, 2
CHECKPOINT_BYTES = 12  # a parameter: its value and the two moments of AdamW, in fp32
TRAINING_BYTES = 16  # a parameter: the same and its gradient

# Parts that are told apart further, and by which word of a parameter's name: all layers share their rows.
GROUPED = {"context": 1, "heads": 1, "layers": 2, "convolutions": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One component: what it is made of, how many parameters that is, and its share of all."""

    component: str
    shape: str  # the shapes of its weight matrices, most frequent first
    count: int
    trainable: int
    bytes: int  # in fp32
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """A whole network beside what is documented of it."""

    preset: str
    parameters: int
    documented: int | None
    fp32_bytes: int
    fp16_bytes: int
    checkpoint_bytes: int
    training_bytes: int
    rows: tuple[Row, ...]

    @property
    def difference(self) -> float | None:
        """Counted against documented, as a share of the documented number; None where nothing is documented."""
        return None if self.documented is None else self.parameters / self.documented - 1


def size(config: NetworkConfig) -> Size:
    """The size of the network of a config; nothing of that size is allocated."""
    rows = size_table(config)
    total = sum(row.count for row in rows)
    return Size(
        preset=title(config.kind, config.preset),
        parameters=total,
        documented=DOCUMENTED.get(title(config.kind, config.preset)),
        fp32_bytes=total * FP32_BYTES,
        fp16_bytes=total * FP16_BYTES,
        checkpoint_bytes=total * CHECKPOINT_BYTES,
        training_bytes=total * TRAINING_BYTES,
        rows=rows,
    )


def size_table(config: NetworkConfig) -> tuple[Row, ...]:
    """A row a component, in the order in which the network holds them; the counts add up to all parameters."""
    with torch.device("meta"):
        network = build(config)
    total = sum(value.numel() for value in network.parameters())
    return tuple(_row(name, parts, total) for name, parts in _components(network).items())


def _components(network: nn.Module) -> dict[str, list[nn.Parameter]]:
    """The parameters of each part, heads one by one, everything once."""
    found: dict[str, list[nn.Parameter]] = {}
    for name, value in network.named_parameters():
        words = name.split(".")
        part = f"{words[0]}.{words[GROUPED[words[0]]]}" if words[0] in GROUPED else words[0]
        found.setdefault(part.replace("_", " ").replace(".", ": "), []).append(value)
    return found


def _row(component: str, parts: list[nn.Parameter], total: int) -> Row:
    count = sum(value.numel() for value in parts)
    trainable = sum(value.numel() for value in parts if value.requires_grad)
    return Row(
        component=component,
        shape=_shapes(parts),
        count=count,
        trainable=trainable,
        bytes=count * FP32_BYTES,
        share=count / total,
    )


def _shapes(parts: list[nn.Parameter]) -> str:
    """Its matrices as `4 × 256×1024`, most frequent first; its vectors when there is no matrix."""
    matrices = ["×".join(map(str, value.shape)) for value in parts if value.dim() > 1]
    names = matrices or ["×".join(map(str, value.shape)) for value in parts]
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    ordered = sorted(counts.items(), key=lambda entry: -entry[1])
    return ", ".join(name if many == 1 else f"{many} × {name}" for name, many in ordered)
