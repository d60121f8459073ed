#!/usr/bin/env python3
"""Writes frontend/onnx/schemas.txt: what each operator of ONNX takes in each version of its set.

The operators of com.microsoft are those of ONNX Runtime. Run by hand with a Python that has the newest
`onnx` and `onnxruntime` wheels, when one of them is newer:

    python3 tools/onnx_schemas.py > frontend/onnx/schemas.txt
"""
import onnx
import onnx.defs
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state

HEAD = """\
# Made by tools/onnx_schemas.py from onnx {version} and onnxruntime {runtime}. See frontend/onnx/schema.h for how the importer uses it.
#
# set DOMAIN VERSION              the newest version of an operator set
# NAME SINCE removed              the operator does not exist from this version on
# NAME SINCE INPUTS OUTPUTS ATTRIBUTE...
#   INPUTS, OUTPUTS   the least and the largest number of them: 2-3, 1, 1+
#   ATTRIBUTE         name:kind, with ! if it must be there, or = and the value without it
"""


def count(least, most):
    if most == 2147483647:
        return f"{least}+"
    return str(least) if least == most else f"{least}-{most}"


def default_of(a):
    value = getattr(a, "default_value", None)
    if value is None:  # ONNX Runtime has it as bytes
        value = onnx.AttributeProto()
        value.ParseFromString(a._default_value)
    return onnx.helper.get_attribute_value(value) if value.type else None


def attribute(name, a):
    kind = str(a.type).rsplit(".", maxsplit=1)[-1].lower()
    out = f"{name}:{kind}"
    if a.required:
        return out + "!"
    default = default_of(a)
    if isinstance(default, bytes):
        default = default.decode()
    if isinstance(default, float):
        default = f"{default:.9g}"
    if isinstance(default, (int, str)) and default != "":
        out += f"={default}"
    if any(c.isspace() for c in out):
        raise ValueError(f"a blank in {out!r}")
    return out


def least_inputs(schema):
    """Without optional ones at the end, which ONNX counts for they have a place: a node may leave their names empty."""
    least = schema.min_input
    while 0 < least <= len(schema.inputs) and str(schema.inputs[least - 1].option).endswith("Optional"):
        least -= 1
    return least


def line(schema, is_newest):
    # A deprecated version that a newer one replaced is in models, and runtimes take it: GroupNormalization 18.
    if schema.deprecated and is_newest:
        return "removed"
    parts = [count(least_inputs(schema), schema.max_input), count(schema.min_output, schema.max_output)]
    return " ".join(parts + [attribute(*item) for item in sorted(schema.attributes.items())])


def main():
    print(HEAD.format(version=onnx.__version__, runtime=onnxruntime.__version__), end="")
    runtime = onnxruntime_pybind11_state.get_all_operator_schema()
    schemas = onnx.defs.get_all_schemas_with_history()
    # ONNX Runtime has these in ONNX's domain from version 1 on, and exporters write them.
    early = ("LayerNormalization", "SimplifiedLayerNormalization")
    schemas += [s for s in runtime if s.domain == "com.microsoft" or (s.name in early and s.since_version == 1)]
    newest, lines = {}, {}
    schemas.sort(key=lambda s: s.since_version)
    last = {(s.domain, s.name): s for s in schemas}
    for s in schemas:
        domain = s.domain or "ai.onnx"
        newest[domain] = max(newest.get(domain, 0), s.since_version)
        name = f"{s.domain}.{s.name}" if s.domain else s.name
        text = line(s, last[s.domain, s.name] is s)
        versions = lines.setdefault(name, [])
        # A version that changes the meaning or the dtypes alone takes the same.
        if not versions or versions[-1][1] != text:
            versions.append((s.since_version, text))
    for domain in sorted(newest):
        print(f"set {domain} {newest[domain]}")
    for name in sorted(lines):
        for since, text in lines[name]:
            print(name, since, text)


if __name__ == "__main__":
    main()
