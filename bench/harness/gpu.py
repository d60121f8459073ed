"""Networks on a GPU: compiled by `relay compile --target cuda:...`, verified, timed beside PyTorch."""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from relay_so import Call, Device, DLTensor, Model, tensor_of
from zoo.catalogue import NETWORKS

from . import models
from .environment import last_line
from .gpu_machine import CUDA_DEVICE, TO_DEVICE, TO_HOST, Gpu, Options, Runtime, find_gpu, measure_roofs

LONGEST_S = 3600
WARM_UPS = 8
HEAD = f"{'network':<22} {'ms':>9} {'PyTorch':>9} {'ratio':>6} {'roof':>6}  {'limit':<7} checked"


@dataclass
class Row:
    """A line of the table."""

    network: str
    ms: float | None = None
    torch_ms: float | None = None
    share: float | None = None
    limit: str = ""
    checked: str = ""

    def text(self) -> str:
        """Columns as HEAD names them."""

        def number(value: float | None, form: str) -> str:
            return "-" if value is None else format(value, form)

        ratio = self.ms / self.torch_ms if self.ms and self.torch_ms else None
        return (
            f"{self.network:<22} {number(self.ms, '9.3f'):>9} {number(self.torch_ms, '9.3f'):>9}"
            f" {number(ratio, '.2f'):>6} {number(self.share, '.1%'):>6}  {self.limit:<7} {self.checked}"
        )


def run(chosen: Options) -> int:
    """Prints the table; 1 if a network is wrong or cannot be run."""
    gpu = find_gpu()
    assert gpu, "it was looked for before"
    runtime = Runtime()
    peak, bandwidth = measure_roofs(runtime, gpu)
    print(f"{gpu.name}: {peak / 1e12:.1f} Tflop/s in float32, {bandwidth / 1e9:.0f} GB/s\n{HEAD}", flush=True)
    good = True
    for name in chosen.networks:
        if name not in NETWORKS:
            sys.exit(f"gpu: there is no network {name}; there are: {', '.join(NETWORKS)}")
        row = Row(name)
        with tempfile.TemporaryDirectory() as folder:
            good &= measure(row, name, chosen, gpu, runtime, Path(folder))
        if row.ms:
            graph = NETWORKS[name].graph()
            arithmetic, memory = graph.flops() / peak * 1e3, graph.traffic_bytes() / bandwidth * 1e3
            row.share = max(arithmetic, memory) / row.ms
            row.limit = "arith" if arithmetic >= memory else "memory"
        print(row.text(), flush=True)
    return 0 if good else 1


def measure(row: Row, name: str, chosen: Options, gpu: Gpu, runtime: Runtime, folder: Path) -> bool:
    """Fills the row in; False if something that should have worked did not."""
    model, artifact = models.onnx_file(name), folder / "model.so"
    target = ["--target", f"cuda:sm_{gpu.capability}"]
    shapes = [word for shape in models.fixed_shapes(name) for word in ("--input-shapes", shape)]
    command = [str(chosen.relay), "compile", str(model), *target, *shapes, "-o", str(artifact)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
    if ended.returncode:
        row.checked = "not compiled: " + last_line(ended.stderr or ended.stdout)
        return ended.returncode == 4  # what is not supported is no mistake
    inputs = NETWORKS[name].graph().sample_inputs()
    row.ms = time_artifact(artifact, inputs, chosen.runs, runtime)
    row.checked, good = verify(chosen.relay, model, target, shapes)
    if chosen.torch:
        row.torch_ms = time_torch(model, inputs, chosen.runs, runtime)
    return good


def verify(relay: Path, model: Path, target: list[str], shapes: list[str]) -> tuple[str, bool]:
    """The engine against the float64 interpreter, within the bounds of docs/semantics.md."""
    command = [str(relay), "verify", str(model), *target, *shapes, "--engines", "aot-cuda", "--levels", "2", "--quiet"]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return f"the interpreter took more than {LONGEST_S} s", True
    if ended.returncode == 0:
        return "agrees with the interpreter", True
    return "WRONG: " + last_line(ended.stdout + ended.stderr), False


def median_ms(once: Callable[[], object], runs: int, runtime: Runtime) -> float:
    """Of runs that end before `once` returns, by the device's clock."""
    for _ in range(WARM_UPS):
        once()
    return statistics.median(runtime.milliseconds(once) for _ in range(runs))


def time_artifact(artifact: Path, inputs: dict[str, np.ndarray], runs: int, runtime: Runtime) -> float:
    """With inputs and outputs on the device."""
    places: list[int] = []

    def on_device(array: np.ndarray) -> DLTensor:
        places.append(runtime.allocate(array.nbytes))
        runtime.copy(places[-1], array.ctypes.data, array.nbytes, TO_DEVICE)
        tensor = tensor_of(array)
        tensor.data = places[-1]
        tensor.device = Device(CUDA_DEVICE, 0)
        return tensor

    with Model(artifact) as model, model.context() as context:
        ordered = [np.ascontiguousarray(inputs[name]) for name in model.names("inputs")]
        results = context.run(ordered)
        given, made = [on_device(x) for x in ordered], [on_device(y) for y in results]
        call = Call(context, given, made, [*ordered, *results])
        ms = median_ms(call, runs, runtime)
        for array, tensor in zip(results, made):  # the same as by way of the host
            again = np.empty_like(array)
            runtime.copy(again.ctypes.data, tensor.data, array.nbytes, TO_HOST)
            if not np.array_equal(again, array, equal_nan=array.dtype.kind == "f"):
                raise RuntimeError("tensors of the device and of the host give different results")
    for place in places:
        runtime.free(place)
    return ms


def time_torch(model: Path, inputs: dict[str, np.ndarray], runs: int, runtime: Runtime) -> float | None:
    """The module as torch.compile makes it for the GPU, in float32; None where PyTorch or a rule for an operator is missing."""
    try:
        import onnx
        import torch

        from .peers import torch_graph

        if not torch.cuda.is_available():
            return None
        # Our kernels multiply in float32. PyTorch would let convolutions drop to TF32, which has 10 bits.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        module, _ = torch_graph.convert(onnx.load(str(model)))
        compiled = torch.compile(module.eval().cuda(), dynamic=False)
        given = [torch.from_numpy(array).cuda() for array in inputs.values()]

        def once() -> None:
            with torch.inference_mode():
                compiled(*given)
            torch.cuda.synchronize()

        return median_ms(once, runs, runtime)
    except (ImportError, NotImplementedError) as error:
        print(f"gpu: no PyTorch for {model.stem}: {error}", file=sys.stderr)
        return None

