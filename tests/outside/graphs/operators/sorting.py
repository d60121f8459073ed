"""Elements in order."""

from ..draw import FLOATS, Draw, NoFit


def top(d: Draw, name: str) -> None:
    x = d.value((*FLOATS, "int32", "int64") if d.opset >= 11 else FLOATS, rank=(1, 4))
    axis = d.axis(x.rank) if d.opset >= 11 else d.integer(0, x.rank - 1)
    extent = x.shape[axis]
    if extent == 0:
        raise NoFit
    given = axis if (axis + 1) % x.rank or d.chance(0.5) else None
    k = d.integer(1, extent)
    if d.opset < 10:
        d.add(name, [x], 2, axis=given, k=k)
        return
    # Without `sorted`, ONNX leaves the order open.
    largest = d.choose((0, 1, None)) if d.opset >= 11 else None
    d.add(name, [x, d.constant([k])], 2, axis=given, largest=largest)


ROWS = {
    "TopK": (top, 7, 21, True, True),
}
