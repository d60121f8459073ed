"""The two engines behind one face: fed once, then run again and again into the same output arrays."""

from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime as ort
from relay_so import Model

Arrays = dict[str, np.ndarray]


class Engine(Protocol):
    """Something that runs one model on fixed inputs."""

    def run(self) -> None:
        """Runs once."""

    def outputs(self) -> Arrays:
        """What the last run computed."""


class Peer:
    """ONNX Runtime with all its optimisations, on as many threads as asked for."""

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


class Ours:
    """A compiled model, loaded from its `.so` through the C interface as an application would."""

    def __init__(self, artifact: Path, inputs: Arrays, threads: int) -> None:
        model = Model(artifact, threads)
        context = model.context()
        ordered = [inputs[name] for name in model.names("inputs")]
        self._results = dict(zip(model.names("outputs"), context.run(ordered)))
        self._call = context.bind(ordered, list(self._results.values()))

    def run(self) -> None:
        self._call()

    def outputs(self) -> Arrays:
        return self._results
