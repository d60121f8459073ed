"""Runtimes of others that read ONNX, each by the name that `relay.verify(..., against=NAME)` takes.

Each runs a model's file once, on the CPU and in the precision that the model states.
"""

import dataclasses
import importlib
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]
Import = Callable[[str], Any]  # gives a module


def _onnxruntime(load: Import, path: str, feeds: Feeds) -> Any:
    session = load("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def _openvino(load: Import, path: str, feeds: Feeds) -> Any:
    core = load("openvino").Core()
    # It computes in bfloat16 on some processors unless it is told not to.
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled(feeds)
    return [results[output] for output in compiled.outputs]


def call_torch(torch: Any, net: Any, feeds: Feeds) -> Any:
    """Calls a torch.nn.Module with tensors, without gradients."""
    with torch.no_grad():
        return net(*map(torch.from_numpy, feeds.values()))


def _torch(load: Import, path: str, feeds: Feeds) -> Any:
    return call_torch(load("torch"), load("onnx2torch").convert(path).eval(), feeds)


# As tract writes it: "1,28,28,f32".
def _tract_fact(array: Array) -> str:
    kind = "bool" if array.dtype == np.bool_ else f"{array.dtype.kind}{8 * array.itemsize}"
    return ",".join([*map(str, array.shape), kind])


def _tract(load: Import, path: str, feeds: Feeds) -> Any:
    model = load("tract").onnx().load(path)
    names = [model.input_name(i) for i in range(model.input_count())]
    for i, name in enumerate(names):
        model.set_input_fact(i, _tract_fact(feeds[name]))
    results = model.into_model().into_runnable().run([feeds[name] for name in names])
    return [result.to_numpy() for result in results]


def _tvm(load: Import, path: str, feeds: Feeds) -> Any:
    tvm, relax, importer = load("tvm"), load("tvm.relax"), load("tvm.relax.frontend.onnx")
    shapes = {name: list(array.shape) for name, array in feeds.items()}
    module = importer.from_onnx(load("onnx").load(path), shape_dict=shapes)
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    results = machine["main"](*map(tvm.runtime.tensor, feeds.values()))
    return [result.numpy() for result in ([results] if isinstance(results, tvm.runtime.Tensor) else results)]


# The oldest operators that IREE has all of; its importer converts older models.
_IREE_OPSET = "17"


def _iree(load: Import, path: str, feeds: Feeds) -> Any:
    tools, runtime = load("iree.compiler.tools"), load("iree.runtime")
    with tempfile.TemporaryDirectory() as folder:
        text = str(pathlib.Path(folder) / "model.mlir")
        # The importer is a command alone.
        command = ["-m", "iree.compiler.tools.import_onnx", path, "--opset-version", _IREE_OPSET, "-o", text]
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            raise RuntimeError(f"IREE imports no such model: {done.stderr.strip()}")
        code = tools.compile_file(text, input_type="onnx", target_backends=["llvm-cpu"],
                                  extra_args=["--iree-llvmcpu-target-cpu=host"])
    module = runtime.load_vm_flatbuffer(code, driver="local-sync")
    # Beside the graph's own function there are `NAME$async` and `__init`.
    graphs = [name for name in module.vm_module.function_names if "$" not in name and not name.startswith("__")]
    return module[graphs[0]](*feeds.values())


@dataclasses.dataclass(frozen=True)
class Runtime:
    """A runtime by its name, which is its module, and the packages of PyPI that it needs, its own first."""

    name: str
    run_with: Callable[[Import, str, Feeds], Any]
    packages: tuple[str, ...]

    def load(self, module: str) -> Any:
        try:
            return importlib.import_module(module)
        except ImportError as error:
            needs = f"the module {module} cannot be imported ({error}): pip install {' '.join(self.packages)}"
            raise ImportError(f"argument `against`: {needs}", name=module) from error

    def version(self) -> str:
        # onnxruntime is in several packages, so its module is asked first; tract and IREE have it in the package alone.
        if version := getattr(self.load(self.name), "__version__", None):
            return str(version)
        try:
            return importlib.metadata.version(self.packages[0].partition("[")[0])
        except importlib.metadata.PackageNotFoundError:
            return "of an unknown version"

    def run(self, model: str | bytes, feeds: Feeds) -> Any:
        """The outputs of a model, of which a path or a file's contents is given."""
        if isinstance(model, str):
            return self.run_with(self.load, model, feeds)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            path.write_bytes(model)
            return self.run_with(self.load, str(path), feeds)


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime("onnxruntime", _onnxruntime, ("onnxruntime",)),
        Runtime("openvino", _openvino, ("openvino",)),
        Runtime("torch", _torch, ("torch", "onnx2torch")),
        Runtime("tract", _tract, ("tract",)),
        Runtime("tvm", _tvm, ("apache-tvm", "onnx")),
        Runtime("iree", _iree, ("iree-base-compiler[onnx]", "iree-base-runtime")),
    )
}
ALIASES = {"ort": "onnxruntime"}
