"""If, Loop and Scan: graphs within nodes, which read values around them."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from ..draw import Draw, Value
from .elementwise import CASTS

STEPS = ("Add", "Sub", "Mul")


def output(name: str, dtype: str):
    return helper.make_tensor_value_info(name, CASTS[dtype], None)


def branch(d: Draw, name: str, x: Value):
    """x with a constant, one or two operators."""
    nodes = [helper.make_node(d.choose(STEPS), [x.name, f"{name}_c"], [f"{name}_0"])]
    if d.chance(0.5):
        nodes.append(helper.make_node(d.choose(("Abs", "Neg", "Identity")), [f"{name}_0"], [f"{name}_1"]))
    constant = numpy_helper.from_array(d.elements(x.dtype, ()), f"{name}_c")
    last = nodes[-1].output[0]
    return helper.make_graph(nodes, name, [], [output(last, x.dtype)], initializer=[constant])


def choice(d: Draw, name: str) -> None:
    x = d.value(("float32", "float64", "int32", "int64"))
    shapes = ((), (1,))
    condition = d.earlier(lambda v: v.dtype == "bool" and v.shape in shapes) or d.new("bool", d.choose(shapes))
    count = len(d.graph.nodes)
    yes, no = branch(d, f"n{count}_then", x), branch(d, f"n{count}_else", x)
    d.add(name, [condition], then_branch=yes, else_branch=no)
    d.read.append(x)


def loop(d: Draw, name: str) -> None:
    """A state that changes in each step, and perhaps the rows of all steps."""
    x = d.value(("float32", "float64", "int32", "int64"), low=-8, high=8, fits=lambda v: v.array.size < 500)
    at = f"n{len(d.graph.nodes)}"
    trips = np.array(d.integer(0, 4), "int64")
    trips_value = d.input(trips) if d.chance(0.5) else d.constant(trips)
    go = d.constant(np.array(True)) if d.chance(0.5) else None
    step = helper.make_node(d.choose(("Add", "Sub")), [f"{at}_x", f"{at}_c"], [f"{at}_y"])
    nodes = [step]
    limit = d.integer(0, 4)
    constants = [numpy_helper.from_array(d.elements(x.dtype, ()), f"{at}_c")]
    if d.chance(0.5):  # ends early
        constants.append(numpy_helper.from_array(np.array(limit, "int64"), f"{at}_limit"))
        nodes.append(helper.make_node("Less", [f"{at}_i", f"{at}_limit"], [f"{at}_go"]))
    else:
        nodes.append(helper.make_node("Identity", [f"{at}_go_in"], [f"{at}_go"]))
    results = [output(f"{at}_go", "bool"), output(f"{at}_y", x.dtype)]
    rows = d.chance(0.5)
    if rows:
        nodes.append(helper.make_node("Identity", [f"{at}_y"], [f"{at}_row"]))
        results.append(output(f"{at}_row", x.dtype))
    inputs = [
        helper.make_tensor_value_info(f"{at}_i", TensorProto.INT64, []),
        helper.make_tensor_value_info(f"{at}_go_in", TensorProto.BOOL, []),
        helper.make_tensor_value_info(f"{at}_x", CASTS[x.dtype], None),
    ]
    body = helper.make_graph(nodes, f"{at}_body", inputs, results, initializer=constants)
    d.add(name, [trips_value, go, x], 2 if rows else 1, body=body)


def scan(d: Draw, name: str) -> None:
    """Running sums along an axis, forwards or backwards."""
    x = d.value(("float32", "float64"), low=-8, high=8, fits=lambda v: v.array.ndim > 0 and 0 < v.array.size < 500)
    at, rank = f"n{len(d.graph.nodes)}", len(x.shape)
    axis = d.integer(-rank, rank - 1)
    rest = [extent for i, extent in enumerate(x.shape) if i != axis % rank]
    state = d.input(d.elements(x.dtype, tuple(rest)))
    nodes = [
        helper.make_node("Add", [f"{at}_s", f"{at}_e"], [f"{at}_t"]),
        helper.make_node(d.choose(("Abs", "Neg", "Identity")), [f"{at}_t"], [f"{at}_row"]),
    ]
    inputs = [helper.make_tensor_value_info(f"{at}_{part}", CASTS[x.dtype], rest) for part in ("s", "e")]
    results = [output(f"{at}_{part}", x.dtype) for part in ("t", "row")]
    body = helper.make_graph(nodes, f"{at}_body", inputs, results)
    attributes = {
        "scan_input_axes": [axis],
        "scan_input_directions": [d.integer(0, 1)],
        "scan_output_axes": [d.integer(-rank, rank - 1)],
        "scan_output_directions": [d.integer(0, 1)],
    }
    d.add(name, [state, x], 2, body=body, num_scan_inputs=1, **attributes)


ROWS = {
    "If": (choice, 11, 21, True),
    "Loop": (loop, 11, 21, True),
    "Scan": (scan, 11, 21, True),
}
