"""What a CUDA card does with the networks: seconds, bytes, and whether its answers are those of the CPU."""

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from model.batches import take
from model.device import Device
from model.learner import Learner
from model.losses import mean_losses
from model.predictions import inputs
from model.presets import ModelConfig
from model.recipe import TrainConfig
from model.rehearsal import DEVICE as CPU
from model.rehearsal import blank
from model.shortage import one_sentence

BATCH, SAMPLES, UPDATES = 5, 255, 51


def filled(config: ModelConfig, count: int) -> dict[str, Tensor]:
    """Random sample fields, the same at every call."""
    draw = torch.Generator().manual_seed(5)
    fields = {name: torch.randn(values.shape, generator=draw) for name, values in blank(config, count).items()}
    success = (torch.rand(count, 1, generator=draw) > 0.5).float()
    return fields | {"actions": torch.arange(count) % 3, "trade_success": success}


def on(device: Device, fields: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: values.to(device.torch) for name, values in fields.items()}


def learner(config: ModelConfig, device: Device, fields: dict[str, Tensor], **settings: Any) -> Learner:
    torch.manual_seed(1)
    return Learner(TrainConfig(**settings), config, device, on(device, fields))


def correctness(config: ModelConfig, device: Device) -> float:
    """The largest difference of a gradient between this device and the CPU, over the largest gradient; no dropout."""
    still, fields = replace(config, dropout=0.0), filled(config, BATCH)
    found: list[dict[str, Tensor]] = []
    for where in (CPU, device):
        one = learner(still, where, fields)
        one.model.train()
        one.losses(on(where, fields))["loss"].backward()
        found.append({name: p.grad.detach().cpu() for name, p in one.model.named_parameters() if p.grad is not None})
    largest = max(float(grad.abs().max()) for grad in found[0].values())
    return max(float((found[0][name] - found[1][name]).abs().max()) for name in found[0]) / largest


def settled(device: Device) -> float:
    """The clock, once everything asked of the device is done."""
    if device.kind == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def seconds_of(work: Callable[[], object], device: Device, times: int) -> float:
    """Seconds of one piece of work, after three to warm up."""
    for _ in range(3):
        work()
    started = settled(device)
    for _ in range(times):
        work()
    return (settled(device) - started) / times


def eager(config: ModelConfig, device: Device, updates: int, **settings: Any) -> tuple[float, int, int]:
    """Seconds of an update as the product makes it, and the bytes that were allocated and reserved at the peak."""
    fields = filled(config, BATCH)
    if device.kind == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if device.kind == "cuda" else 0
    one = learner(config, device, fields, **settings)
    rows = on(device, fields)
    took = seconds_of(lambda: one.update(take(rows, torch.arange(BATCH)), 1e-4, 1.0), device, updates)
    if device.kind != "cuda":
        return took, 0, 0
    return took, torch.cuda.max_memory_allocated() - before, torch.cuda.max_memory_reserved()


def graphed(config: ModelConfig, device: Device, updates: int, precision: str) -> float:
    """Seconds of an update replayed as one CUDA graph: small batches wait for launches, not for arithmetic."""
    fields = on(device, filled(config, BATCH))
    one = learner(config, device, fields, precision=precision, checkpointing=False)
    optimizer = torch.optim.AdamW(one.model.parameters(), lr=1e-4, fused=True, capturable=True)
    one.model.train()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with one.precision():
            outputs = one.model(fields)
        mean_losses(one._per_sample(outputs, fields), one.config)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(one.model.parameters(), 1.0, foreach=True)
        optimizer.step()

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return seconds_of(graph.replay, device, updates)


def inference_bytes(config: ModelConfig, device: Device) -> int:
    """Bytes allocated at the peak of one answer, weights included."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    one = filled(config, 1)
    model = copy.deepcopy(learner(config, CPU, one).model).eval().to(device.torch)
    rows = on(device, {name: one[name] for name in inputs(one)})
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        model(rows)
    return torch.cuda.max_memory_allocated() - before


def too_small(config: ModelConfig, device: Device) -> str:
    """The sentence of an update for which the memory does not suffice."""
    held = torch.cuda.memory_reserved() + 64 * 2**20
    torch.cuda.set_per_process_memory_fraction(held / torch.cuda.get_device_properties(0).total_memory)
    try:
        fields = filled(config, 64)
        recipe = TrainConfig(batch_size=64)
        with one_sentence("the first update", recipe, device, 64):
            Learner(recipe, config, device, on(device, fields)).update(on(device, fields), 1e-4, 1.0)
    except MemoryError as error:
        return str(error)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    return ""
