"""A node as one line of text: what triage.toml matches, and what people read."""

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from .compose import Step
from .draw import Value

MOST_SHOWN = 8


def of_array(array: np.ndarray) -> str:
    return str(array.tolist()) if array.size <= MOST_SHOWN else "..."


def of_value(v: Value) -> str:
    shape = ",".join(map(str, v.shape))
    return f"{v.dtype}[{shape}]" + (f"={of_array(v.array)}" if v.constant else "")


def of_attribute(a: AttributeProto) -> str:
    value = helper.get_attribute_value(a)
    if a.type == AttributeProto.GRAPH:
        value = "{" + ", ".join(n.op_type for n in value.node) + "}"
    elif a.type == AttributeProto.TENSOR:
        value = of_array(numpy_helper.to_array(value))
    elif a.type == AttributeProto.FLOAT:
        value = f"{value:.6g}"
    elif isinstance(value, bytes):
        value = value.decode()
    elif a.type == AttributeProto.STRINGS:
        value = [s.decode() for s in value]
    return f"{a.name}={value}"


def of_step(step: Step, opset: int) -> str:
    """Conv opset 13 (float32[1,3,5,5], float32[2,3,1,1]) strides=[2, 2] -> float32[1,2,3,3]"""
    by_name = {v.name: v for v in step.reads}
    reads = ", ".join(of_value(by_name[name]) if name else "-" for name in step.node.input)
    attributes = "".join(" " + of_attribute(a) for a in step.node.attribute)
    results = ", ".join(of_value(v) for v in step.results) or "refused"
    return f"{step.node.op_type} opset {opset} ({reads}){attributes} -> {results}"
