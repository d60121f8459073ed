"""ONNX Runtime without its optimisations, on one thread."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime as ort
from onnx import ModelProto
from onnxruntime.capi import onnxruntime_pybind11_state as state


class NotImplementedByPeer(Exception):
    """The peer has no kernel for this operator at these dtypes: that says nothing about the model."""


class Refused(Exception):
    """The peer says that the model is wrong, or fails in its run."""


def run(model: ModelProto, inputs: Mapping[str, np.ndarray]) -> Sequence[np.ndarray]:
    """Returns the outputs of the model in order."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        return session.run(None, dict(inputs))
    except state.NotImplemented as error:
        raise NotImplementedByPeer(str(error)) from error
    except Exception as error:  # each kind of failure has a class of its own, and all of them mean no
        text = " ".join(str(error).split())
        if "Type Error: Type 'tensor(" in text:  # this version of the operator is not for this dtype
            raise NotImplementedByPeer(text) from error
        raise Refused(text) from error
