"""OpenVINO's CPU plugin, in float32 and for latency."""

from pathlib import Path

import openvino as ov

from ..engine import Arrays


class Peer:
    """One request whose input tensors share the arrays' memory."""

    def __init__(self, model: Path, inputs: Arrays, threads: int) -> None:
        core = ov.Core()
        network = core.read_model(str(model))
        if any(port.get_partial_shape().is_dynamic for port in network.inputs):
            network.reshape({name: list(array.shape) for name, array in inputs.items()})
        settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",  # where a processor has bfloat16 it would be used unasked
        }
        self._request = core.compile_model(network, "CPU", settings).create_infer_request()
        for name, array in inputs.items():
            self._request.set_tensor(name, ov.Tensor(array, shared_memory=True))
        self._names = [next(iter(port.get_names())) for port in network.outputs]

    def run(self) -> None:
        self._request.infer()

    def outputs(self) -> Arrays:
        return {name: self._request.get_output_tensor(i).data for i, name in enumerate(self._names)}
