"""How a DQN acts and learns: the section `dqn` of the params."""

from dataclasses import dataclass

from dataset.bounds import check, setting


@dataclass(frozen=True, kw_only=True, slots=True)
class DqnRecipe:
    """Settings besides those of the section `train`, whose rate, decay, clipping, epochs and seed count here too."""

    fee_bps: float = setting(5.0, "cost of a trade, of what is traded", minimum=0.0, maximum=1000.0, unit="bps")
    discount: float = setting(0.99, "what a reward one candle later is worth", minimum=0.0, maximum=1.0)
    replay_capacity: int = setting(20_000, "steps that the memory holds", minimum=1, maximum=10_000_000, unit="steps")
    replay_start: int = setting(500, "random steps before the first update", minimum=1, maximum=1_000_000, unit="steps")
    replay_batch: int = setting(32, "steps an update, drawn from the memory", minimum=1, maximum=4096, unit="steps")
    learn_every: int = setting(4, "steps between two updates", minimum=1, maximum=1000, unit="steps")
    target_every: int = setting(250, "updates between two copies to the target network", minimum=1, maximum=1_000_000)
    epsilon_start: float = setting(1.0, "share of random actions at first", minimum=0.0, maximum=1.0)
    epsilon_end: float = setting(0.05, "share of random actions in the end", minimum=0.0, maximum=1.0)
    epsilon_fraction: float = setting(0.5, "share of all steps in which it falls", minimum=0.0, maximum=1.0)

    def __post_init__(self) -> None:
        check(self)
        if self.replay_start > self.replay_capacity:
            most = f"at most replay_capacity, which is {self.replay_capacity}"
            raise ValueError(f"replay_start is {self.replay_start}, expected {most}")
