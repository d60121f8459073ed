"""PyTorch: the ONNX graph as a torch.fx graph (torch_graph.py), through torch.compile with its weights frozen."""

import os
from pathlib import Path

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # or its pool of processes works beside the measured ones

import onnx  # noqa: E402
import torch  # noqa: E402
import torch._inductor.config  # noqa: E402

from ..engine import Arrays  # noqa: E402
from . import torch_graph  # noqa: E402


class Peer:
    """A compiled module; its first call compiles."""

    def __init__(self, model: Path, inputs: Arrays, threads: int) -> None:
        torch.set_num_threads(threads)
        # Folds batch normalisation and packs weights, as the other peers do when they load a model.
        torch._inductor.config.freezing = True
        module, self._names = torch_graph.convert(onnx.load(str(model)))
        self._call = torch.compile(module.eval(), dynamic=False)
        self._inputs = [torch.from_numpy(array) for array in inputs.values()]
        self._results: tuple[torch.Tensor, ...] = ()
        self.run()

    def run(self) -> None:
        with torch.inference_mode():
            self._results = self._call(*self._inputs)

    def outputs(self) -> Arrays:
        return {name: value.numpy() for name, value in zip(self._names, self._results)}
