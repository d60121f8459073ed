"""What there is for GPUs on this machine, and the command line of bench/gpu. Standard library only."""

import argparse
import ctypes
import ctypes.util
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import options

# Multiplications and additions in float32 that a multiprocessor starts in a cycle, by compute capability.
LANES = {75: 64, 80: 64, 86: 128, 87: 128, 89: 128, 90: 128, 100: 128, 103: 128, 120: 128, 121: 128}
PROBE_BYTES = 1 << 30
CUDA_DEVICE = 2  # kDLCUDA
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3  # cudaMemcpyKind
CLOCK_KHZ, MULTIPROCESSORS = 13, 16  # cudaDeviceAttr


@dataclass(frozen=True)
class Options:
    """What to measure."""

    networks: tuple[str, ...]
    relay: Path
    runs: int
    torch: bool


@dataclass(frozen=True)
class Gpu:
    """As nvidia-smi names it."""

    name: str
    capability: int


def parse() -> Options:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/gpu", description="Checks and times the networks of the zoo on this machine's GPU, in one table."
    )
    parser.add_argument("networks", metavar="NAME", nargs="*", help=f"of the zoo; else {', '.join(options.DEFAULT)}")
    parser.add_argument("--relay", metavar="PATH", type=Path, default=options.ROOT / "relay", help="the command")
    parser.add_argument("--runs", metavar="N", type=int, default=50, help="timed runs; the median counts (50)")
    parser.add_argument("--no-torch", action="store_true", help="do not compare with PyTorch, which takes 6 GB of disk")
    chosen = parser.parse_args()
    return Options(tuple(chosen.networks) or options.DEFAULT, chosen.relay, chosen.runs, not chosen.no_torch)


def find_gpu() -> Gpu | None:
    """The first GPU; None if there is none."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        ended = subprocess.run(query, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = ended.stdout.strip().splitlines()
    if ended.returncode or not lines or "," not in lines[0]:
        return None
    name, capability = lines[0].rsplit(",", 1)
    return Gpu(name.strip(), round(10 * float(capability)))


def find_nvcc() -> str | None:
    """As aot/cuda/build.cc looks for it."""
    home = os.environ.get("CUDA_HOME", "")
    given = os.environ.get("RELAY_NVCC")
    candidates = [given] if given else ["nvcc", f"{home}/bin/nvcc", "/usr/local/cuda/bin/nvcc"]
    return next((found for found in map(shutil.which, candidates) if found), None)


def missing() -> str:
    """What keeps this machine from measuring; an empty text if nothing does."""
    if find_gpu() is None:
        return "this machine has no GPU that nvidia-smi knows"
    if find_nvcc() is None:
        return "this machine has no nvcc: install the CUDA Toolkit, or say where it is by RELAY_NVCC or CUDA_HOME"
    return ""


class Runtime:
    """The little of the CUDA runtime that is needed to place tensors, to time runs and to find the machine's limits."""

    def __init__(self) -> None:
        nvcc = find_nvcc()
        beside = Path(nvcc).resolve().parents[1] / "lib64" / "libcudart.so" if nvcc else Path("libcudart.so")
        self._library = ctypes.CDLL(str(beside) if beside.exists() else ctypes.util.find_library("cudart"))

    def call(self, name: str, *arguments: object) -> None:
        """A function of the runtime; anything but success is an error."""
        status = getattr(self._library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} failed with error {status}")

    def allocate(self, size: int) -> int:
        """The address of so many bytes on the device."""
        place = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(place), ctypes.c_size_t(max(size, 1)))
        return place.value or 0

    def free(self, place: int) -> None:
        """Gives them back."""
        self.call("cudaFree", ctypes.c_void_p(place))

    def copy(self, to: int, source: int, size: int, kind: int) -> None:
        """Waits until it is done, except on the device."""
        self.call("cudaMemcpy", ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(size), kind)

    def wait(self) -> None:
        """Until the device has nothing to do."""
        self.call("cudaDeviceSynchronize")

    def milliseconds(self, once: Callable[[], object]) -> float:
        """Between two events of the device, the first before `once`, the second after it; it ends with the device idle."""
        events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in events:
            self.call("cudaEventCreate", ctypes.byref(event))
        self.call("cudaEventRecord", events[0], None)
        once()
        self.call("cudaEventRecord", events[1], None)
        self.call("cudaEventSynchronize", events[1])
        elapsed = ctypes.c_float()
        self.call("cudaEventElapsedTime", ctypes.byref(elapsed), *events)
        for event in events:
            self.call("cudaEventDestroy", event)
        return elapsed.value

    def attribute(self, number: int) -> int:
        """Of device 0."""
        value = ctypes.c_int()
        self.call("cudaDeviceGetAttribute", ctypes.byref(value), number, 0)
        return value.value


def measure_roofs(runtime: Runtime, gpu: Gpu) -> tuple[float, float]:
    """Float32 operations a second by the machine's numbers, and bytes a second that a copy on the device moves."""
    import time

    lanes = LANES.get(gpu.capability, 128)
    peak = 2.0 * lanes * runtime.attribute(MULTIPROCESSORS) * runtime.attribute(CLOCK_KHZ) * 1e3
    first, second = runtime.allocate(PROBE_BYTES), runtime.allocate(PROBE_BYTES)
    best = 0.0
    for _ in range(10):
        runtime.wait()
        begin = time.perf_counter()
        runtime.copy(second, first, PROBE_BYTES, ON_DEVICE)
        runtime.wait()
        best = max(best, 2 * PROBE_BYTES / (time.perf_counter() - begin))
    runtime.free(first)
    runtime.free(second)
    return peak, best
