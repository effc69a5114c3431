"""What to say when memory runs out: what was asked, what was there, which setting to change."""

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from model.amount import amount
from model.device import Device
from model.recipe import TrainConfig

ASKED = re.compile(r"tried to allocate ([\d.]+) ?(bytes|[KMGT]iB)", re.IGNORECASE)
UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# PyTorch raises plain RuntimeErrors where the allocators of CPU and MPS fail.
PLAIN = ("can't allocate memory", "not enough memory", "MPS backend out of memory")


@contextmanager
def one_sentence(where: str, config: TrainConfig, device: Device, batch: int) -> Iterator[None]:
    """Turns the ways in which memory runs out into a MemoryError of one sentence, with the remedy as its note.

    What the failed step held is freed first.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_shortage(error):
            raise
        traceback.clear_frames(error.__traceback__)
        short = MemoryError(sentence(where, str(error), device, batch))
        if device.kind == "cuda":
            torch.cuda.empty_cache()
        short.add_note(remedy(config))
        raise short from None


def is_shortage(error: Exception) -> bool:
    """Whether an error means that memory ran out."""
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(words in str(error) for words in PLAIN)


def sentence(where: str, said: str, device: Device, batch: int) -> str:
    """What was asked and what was there."""
    free, total = there(device)
    found = ASKED.search(said)
    asked = amount(float(found.group(1)) * UNITS[found.group(2)]) if found else "more memory"
    return (
        f"{where} with batches of {batch} asked for {asked} on {device.kind}, "
        f"where {amount(free)} of {amount(total)} were free; the checkpoints before it are kept"
    )


def there(device: Device) -> tuple[int, int]:
    """Bytes that are free on the device, and all that it has."""
    if device.kind == "cuda":
        return torch.cuda.mem_get_info()
    page = os.sysconf("SC_PAGE_SIZE")
    total = os.sysconf("SC_PHYS_PAGES") * page
    return (os.sysconf("SC_AVPHYS_PAGES") * page if "SC_AVPHYS_PAGES" in os.sysconf_names else 0), total


def remedy(config: TrainConfig) -> str:
    """The cheapest setting that is left to change."""
    if not config.checkpointing:
        return "turn checkpointing on"
    if config.precision == "fp32":
        return "set precision to bf16"
    if config.batch_size != 1:
        return "lower batch_size"
    return "choose a smaller preset or a lower seq_len"
