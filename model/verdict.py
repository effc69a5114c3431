"""Whether a planned run fits a device and, if not, what would."""

from dataclasses import dataclass, replace
from typing import Any

from model.amount import amount
from model.kinds import PRESETS
from model.plan import CUDA_CONTEXT_BYTES, Plan, plan
from model.size import size

FITS, TIGHT, TOO_LARGE = "fits", "tight", "does not fit"
# Fields of a config that its samples decide.
INPUTS = ("streams", "seq_len", "cob_features", "tech_features", "market_features", "position_features", "pivot_levels")

TIGHT_SHARE = 0.85  # of the device: beyond it, fragments and other programs decide


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a plan means for a device of so many bytes."""

    word: str  # fits, tight or does not fit
    needed_bytes: int  # the plan's peak and the assumed CUDA context
    device_bytes: int
    largest_batch: int | None = None  # that fits with all else as planned; only worked out when the plan does not
    switch: str | None = None  # the cheapest change that fits the batch

    @property
    def share(self) -> float:
        """Of the device that is needed."""
        return self.needed_bytes / self.device_bytes


def verdict(planned: Plan, device_bytes: int) -> Verdict:
    """Fits, tight (from 85 %) or does not fit; then with the largest batch and the cheapest switch that do."""
    found = Verdict(word=word(planned, device_bytes), needed_bytes=needed(planned), device_bytes=device_bytes)
    if found.word != TOO_LARGE:
        return found
    return replace(
        found, largest_batch=largest_batch(planned, device_bytes), switch=cheapest_switch(planned, device_bytes)
    )


def sentence(planned: Plan, found: Verdict) -> str:
    """The verdict in words and, if the plan does not fit, what does."""
    said = f"{amount(found.needed_bytes)} of {amount(found.device_bytes)} with batches of {planned.batch}"
    said = f"{said} and checkpointing {'on' if planned.checkpointing else 'off'}, the CUDA context included"
    if found.word != TOO_LARGE:
        return f"{said}: {found.word}."
    batch = f"the largest batch is {found.largest_batch}" if found.largest_batch else "not even one sample fits"
    switch = f"the cheapest switch is {found.switch}" if found.switch else "no single switch makes it fit"
    return f"{said}: {found.word}; {batch}, {switch}."


def needed(planned: Plan) -> int:
    """Bytes of the device that a run takes, the CUDA context included."""
    return planned.predicted_bytes + CUDA_CONTEXT_BYTES


def word(planned: Plan, device_bytes: int) -> str:
    """Fits, tight or does not fit."""
    share = needed(planned) / device_bytes
    return FITS if share < TIGHT_SHARE else TIGHT if share <= 1 else TOO_LARGE


def again(planned: Plan, **changes: Any) -> Plan:
    """The plan of the same run with some settings changed."""
    settings = {name: getattr(planned, name) for name in ("config", "batch", "precision", "checkpointing", "samples")}
    return plan(seq_len=planned.config.seq_len, **(settings | changes))


def largest_batch(planned: Plan, device_bytes: int) -> int | None:
    """The largest batch below the planned one that fits; None if not even one sample does.

    A straight line between a batch that fits and one that does not gives the next guess, and a plan of its own judges
    it: memory over the batch is nearly straight, so a few guesses are enough.
    """
    low, high = planned if planned.batch == 1 else again(planned, batch=1), planned
    if needed(low) > device_bytes:
        return None
    while high.batch - low.batch > 1:
        slope = (needed(high) - needed(low)) / (high.batch - low.batch)
        guess = low.batch + max(1, int((device_bytes - needed(low)) / slope))
        tried = again(planned, batch=min(guess, high.batch - 1))
        low, high = (tried, high) if needed(tried) <= device_bytes else (low, tried)
    return low.batch


def cheapest_switch(planned: Plan, device_bytes: int) -> str | None:
    """The first change that makes the batch fit: more time, then fewer digits, then a smaller network; None if none."""
    state_bytes = planned.weights + planned.optimizer_state + CUDA_CONTEXT_BYTES  # there whatever the switch
    same_network = switches(planned) if state_bytes <= device_bytes else []
    for words, changes in [*same_network, *smaller_networks(planned)]:
        if needed(again(planned, **changes)) <= device_bytes:
            return words
    return None


def switches(planned: Plan) -> list[tuple[str, dict[str, Any]]]:
    """What can be changed with the same network, cheapest first."""
    on, short = {"checkpointing": True}, {"precision": "bf16"}
    found: list[tuple[str, dict[str, Any]]] = []
    if not planned.checkpointing:
        found.append(("checkpointing on", on))
    if planned.precision == "fp32":
        found.append(("precision bf16", short))
    if len(found) == 2:
        found.append(("checkpointing on with precision bf16", on | short))
    return found


def smaller_networks(planned: Plan) -> list[tuple[str, dict[str, Any]]]:
    """The presets of the same kind with fewer parameters, largest first, for the same samples."""
    inputs = {name: getattr(planned.config, name) for name in INPUTS}
    others = [replace(make(), **inputs) for make in PRESETS[planned.config.kind].values()]
    counts = {config.preset: size(config).fp32_bytes for config in others}
    fewer = [config for config in others if counts[config.preset] < size(planned.config).fp32_bytes]
    ordered = sorted(fewer, key=lambda config: -counts[config.preset])
    return [(f"preset {config.preset}", {"config": config}) for config in ordered]
