"""How much memory a training run will need: worked out from the real training step on fake tensors, not fitted."""

from dataclasses import dataclass, replace

from model.kinds import NetworkConfig
from model.ledger import PARTS, Ledger
from model.recipe import TrainConfig
from model.rehearsal import faking, rehearse

# An assumption, the only one: what a CUDA context and the kernels of PyTorch take before the first tensor.
CUDA_CONTEXT_BYTES = 450 * 2**20
OPTIMIZERS = ("adamw",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Predicted bytes of each part at the moment of an update when most are alive."""

    config: NetworkConfig
    batch: int
    precision: str
    checkpointing: bool
    samples: tuple[int, int] | None  # of the training and the validation split, a batch of each if None
    weights: int
    gradients: int  # those that the backward pass has made by then
    optimizer_state: int
    inputs: int  # all samples, which stay on the device, and those of the batch
    activations: int
    transient: int
    validation_bytes: int  # the peak of judging an epoch, everything included

    @property
    def update_bytes(self) -> int:
        """The peak of an update: all parts."""
        return sum(getattr(self, part) for part in PARTS)

    @property
    def predicted_bytes(self) -> int:
        """The peak of the run."""
        return max(self.update_bytes, self.validation_bytes)


def plan(
    config: NetworkConfig,
    batch: int,
    seq_len: int,
    precision: str,
    checkpointing: bool,
    optimizer: str = "adamw",
    *,
    samples: tuple[int, int] | None = None,
) -> Plan:
    """The memory plan of one training run; takes seconds, no GPU and no memory of that size.

    `samples` are those of the training and the validation split, which stay on the device; a batch of each if None.
    Raises ValueError for a setting out of bounds.
    """
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer is {optimizer!r}, expected one of {', '.join(OPTIMIZERS)}")
    if config.kind == "dqn":
        raise ValueError("the memory of a dqn depends on its episodes; it is planned when a run begins")
    shape = replace(config, seq_len=seq_len)
    recipe = TrainConfig(batch_size=batch, precision=precision, checkpointing=checkpointing)
    train, validation = samples or (batch, batch)
    with faking():
        update, judged = rehearse(recipe, shape, batch, train, validation)
    return planned(shape, recipe, batch, samples, update, judged)


def planned(
    config: NetworkConfig,
    recipe: TrainConfig,
    batch: int,
    samples: tuple[int, int] | None,
    update: Ledger,
    judged: Ledger,
) -> Plan:
    """The plan that the ledgers of an update and of a validation tell."""
    return Plan(
        config=config,
        batch=batch,
        precision=recipe.precision,
        checkpointing=recipe.checkpointing,
        samples=samples,
        validation_bytes=judged.peak_bytes,
        **update.peak,
    )
