"""Where the arithmetic happens, and why there."""

import os
from dataclasses import dataclass

import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class Device:
    """A device that was chosen: its kind (cuda, mps, cpu), its name and the reason."""

    kind: str
    name: str
    why: str

    @property
    def torch(self) -> torch.device:
        """The device as PyTorch knows it."""
        return torch.device(self.kind)


def choose(wanted: str) -> Device:
    """The wanted device, or with `auto` the first of CUDA (NVIDIA, or AMD through ROCm), MPS and CPU.

    Raises ValueError if the wanted device is not there.
    """
    there = available()
    if wanted == "auto":
        kind = next(iter(there))
        missing = [name for name in ("cuda", "mps") if name not in there]
        why = "the first of cuda, mps and cpu that is there"
        return Device(kind=kind, name=there[kind], why=why if kind == "cuda" else f"{' and '.join(missing)} not found")
    if wanted not in there:
        raise ValueError(f"device is {wanted}, expected one that is there: {', '.join(there)} or auto")
    return Device(kind=wanted, name=there[wanted], why="asked for")


def available() -> dict[str, str]:
    """The devices of this machine by kind, fastest first."""
    found = {}
    if torch.cuda.is_available():
        found["cuda"] = torch.cuda.get_device_name() + (" (ROCm)" if torch.version.hip else "")
    if torch.backends.mps.is_available():
        found["mps"] = "Apple GPU"
    found["cpu"] = cpu_capability()
    return found


def cpu_capability() -> str:
    """The instruction set of the CPU kernels; another one gives other bits."""
    return str(torch.backends.cpu.get_cpu_capability())


def pin(threads: int, seed: int, device: Device) -> None:
    """Fix what decides the bits of a run: threads, seed and, on a GPU, deterministic kernels."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    if device.kind == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = False
        torch.use_deterministic_algorithms(True, warn_only=True)
