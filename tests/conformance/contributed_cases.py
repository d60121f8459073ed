#!/usr/bin/env python3
"""Writes contributed.txt: small models of com.microsoft and ai.onnx.ml, and what ONNX Runtime makes of them.

Run by hand with a Python that has `onnx`, `onnxruntime` and `numpy`, when a case is new:

    python3 tests/conformance/contributed_cases.py > tests/conformance/contributed.txt

Graph optimisation is off, so that a node is computed by the kernel of its own name.
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from google.protobuf import text_format
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).parent))

F = np.float32
MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"


class Cases:
    """The cases so far. Inputs that `known` names are initialisers of the model."""

    def __init__(self):
        self.lines = []
        self.names = set()
        self.random = np.random.default_rng(7)

    def eighths(self, *shape):
        """Multiples of 1/8 between -1 and 1: sums of their products are exact."""
        return (self.random.integers(-8, 9, shape) / 8).astype(F)

    def integers(self, low, high, shape, dtype=np.int64):
        return self.random.integers(low, high, shape).astype(dtype)

    def add(self, name, op, inputs, outputs=1, domain=MICROSOFT, known=(), open=None, near=(1e-6, 1e-5), opset=17,
            ml=3, standard=None, **attributes):
        """One node. `open` has names of axes, {input: {axis: name}}, with which the test runs it once more.

        `standard` has integers for attributes that ONNX Runtime reads in another way than the standard says.
        """
        if name in self.names:
            raise ValueError(f"{name} is there twice")
        self.names.add(name)
        values = [None if v is None else np.asarray(v) for v in inputs]
        wanted = [o for o in range(outputs)] if isinstance(outputs, int) else outputs
        results = [f"y{o}" for o in range(max(wanted) + 1)]
        node = helper.make_node(op, ["" if v is None else f"x{i}" for i, v in enumerate(values)], results, domain=domain,
                                **attributes)
        given = {f"x{i}": v for i, v in enumerate(values) if v is not None and i not in known}
        declared = [self.declared(n, v) for n, v in given.items()]
        constants = [helper.make_tensor(f"x{i}", helper.np_dtype_to_tensor_dtype(values[i].dtype), values[i].shape,
                                        values[i].flatten().tolist()) for i in known]
        graph = helper.make_graph([node], "case", declared, [onnx.ValueInfoProto(name=f"y{o}") for o in wanted],
                                  constants)
        sets = [helper.make_opsetid("", opset), helper.make_opsetid(ML, ml), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=sets, ir_version=8)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        out = session.run(None, given)
        for a in model.graph.node[0].attribute:
            a.i = (standard or {}).get(a.name, a.i)
        self.lines.append(f"case {name} {near[0]:g} {near[1]:g}")
        self.lines.append("model " + text_format.MessageToString(model, as_one_line=True))
        self.lines += [tensor("input", v) for v in given.values()]
        self.lines += [tensor("output", v) for v in out]
        self.lines += [f"open x{i} {axis} {axis_name}" for i, axes in (open or {}).items() for axis, axis_name in axes.items()]

    @staticmethod
    def declared(name, value):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def tensor(kind, value):
    shape = ",".join(map(str, value.shape)) or "()"
    if np.issubdtype(value.dtype, np.floating):
        numbers = [f"{v:.17g}" if value.dtype == np.float64 else f"{v:.9g}" for v in value.flatten().tolist()]
    else:
        numbers = [str(int(v)) for v in value.flatten().tolist()]
    return " ".join([kind, str(value.dtype), shape, *numbers])


def main():
    import contributed_ml
    import contributed_microsoft
    cases = Cases()
    contributed_ml.add(cases)
    contributed_microsoft.add(cases)
    print(f"# Made by contributed_cases.py with ONNX Runtime {onnxruntime.__version__}.")
    print("\n".join(cases.lines))


if __name__ == "__main__":
    main()
