"""ONNX Runtime with all its optimisations, on as many threads as asked for."""

from pathlib import Path

import numpy as np
import onnxruntime as ort

from ..engine import Arrays


class Peer:
    """A session with everything bound to fixed memory."""

    def __init__(self, model: Path, inputs: Arrays, threads: int) -> None:
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        settings.log_severity_level = 3
        self._session = ort.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
        self._names = [output.name for output in self._session.get_outputs()]
        self._inputs = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        self._results = {
            name: ort.OrtValue.ortvalue_from_numpy(np.empty_like(array))
            for name, array in zip(self._names, self._session.run(None, inputs))
        }
        self._binding = self._bind()

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def outputs(self) -> Arrays:
        return {name: value.numpy() for name, value in self._results.items()}

    def _bind(self) -> ort.IOBinding:
        """Ties inputs and outputs to fixed memory, so that no run copies or allocates them."""
        binding = self._session.io_binding()
        for name, value in self._inputs.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in self._results.items():
            binding.bind_ortvalue_output(name, value)
        return binding
