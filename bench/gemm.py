"""How fast this machine multiplies matrices: the ceiling for a training step."""

import time

import torch

SIZE, TRIES = 1024, 12


def rate(dtype: torch.dtype) -> float:
    """Floating point operations a second of the best of some products of square matrices, in GFLOP/s."""
    left, right = (torch.randn(SIZE, SIZE).to(dtype) for _ in range(2))
    left @ right
    best = min(timed(left, right) for _ in range(TRIES))
    return 2 * SIZE**3 / best / 1e9


def timed(left: torch.Tensor, right: torch.Tensor) -> float:
    """Seconds of one product."""
    started = time.perf_counter()
    left @ right
    return time.perf_counter() - started
