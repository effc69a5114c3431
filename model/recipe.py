"""How a model is trained: the numbers of one training run."""

from dataclasses import dataclass

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """Settings of `fit`; a run with the same settings, samples and threads gives the same bits."""

    epochs: int = setting(8, "Passes over the training samples, at most.", minimum=1, maximum=1000)
    batch_size: int | str = setting(5, "Samples an update; auto = by the number of samples.")
    learning_rate: float = setting(3e-4, "Highest rate of AdamW, after the warm-up.", minimum=1e-7, maximum=1.0)
    weight_decay: float = setting(0.05, "Decay of the weight matrices.", minimum=0.0, maximum=1.0)
    warmup_fraction: float = setting(0.1, "Share of all updates in which the rate rises.", minimum=0.0, maximum=1.0)
    clip_norm: float = setting(1.0, "Largest norm of all gradients together.", minimum=1e-3, maximum=1e3)
    label_smoothing: float = setting(0.05, "Probability given to the other actions.", minimum=0.0, maximum=0.5)
    patience_epochs: int = setting(4, "Epochs without a better score before the end.", minimum=1, maximum=1000)
    precision: str = setting("fp32", "Number format of the network's arithmetic.", choices=("fp32", "bf16", "fp16"))
    checkpointing: bool = setting(True, "Recompute activations in the backward pass: less memory, more time.")
    device: str = setting("auto", "Where to train.", choices=("auto", "cuda", "mps", "cpu"))
    threads: int = setting(2, "CPU threads; another number gives other bits.", minimum=1, maximum=256)
    seed: int = setting(7, "Seed of weights, order and dropout.", minimum=0, maximum=2**31 - 1)
    keep_checkpoints: int = setting(2, "Newest checkpoints kept, besides the best.", minimum=1, maximum=100)
    checkpoint_every_updates: int = setting(
        0, "Updates between checkpoints inside an epoch; 0 = at the end of an epoch only.", minimum=0, maximum=1_000_000
    )
    checkpoint_every_s: float = setting(
        120.0, "Seconds between checkpoints inside an epoch; 0 = none by time.", minimum=0.0, maximum=86400.0
    )
    action_weight: float = setting(1.0, "Weight of the action loss.", minimum=0.0, maximum=100.0)
    confidence_weight: float = setting(0.1, "Weight of the confidence loss.", minimum=0.0, maximum=100.0)
    price_weight: float = setting(0.1, "Weight of the price loss.", minimum=0.0, maximum=100.0)
    candle_weight: float = setting(0.1, "Weight of the next-candle loss.", minimum=0.0, maximum=100.0)
    pivot_weight: float = setting(0.1, "Weight of the pivot loss.", minimum=0.0, maximum=100.0)
    success_weight: float = setting(0.1, "Weight of the trade success loss.", minimum=0.0, maximum=100.0)

    def __post_init__(self) -> None:
        check(self)
        if isinstance(self.batch_size, str) and self.batch_size != "auto":
            raise ValueError(f"batch_size is {self.batch_size!r}, expected a number or auto")
        if isinstance(self.batch_size, int) and not 1 <= self.batch_size <= 512:
            raise ValueError(f"batch_size is {self.batch_size}, expected 1 to 512 or auto")
