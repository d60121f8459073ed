"""Matrix products."""

import numpy as np

from ..draw import FLOATS, MOST_ELEMENTS, Draw, NoFit, Value

DTYPES = (*FLOATS, *FLOATS, "int32", "int64")


def matmul(d: Draw, name: str) -> None:
    a = d.value(DTYPES if d.opset >= 9 else FLOATS, rank=(1, 4))
    if a.shape[-1] == 0:
        raise NoFit  # the peer's sums of nothing are what was in memory, and the graph would not be the same again
    batch = tuple(1 if d.chance(0.2) else e for e in a.shape[:-2])[d.integer(0, max(0, a.rank - 2)) :]
    columns = () if d.chance(0.15) else (d.choose((1, 2, 3, 5, 8, 17)),)
    shape = (*batch, a.shape[-1], *columns) if columns else (a.shape[-1],)
    if a.array.size * (columns[0] if columns else 1) > 10 * MOST_ELEMENTS:
        raise NoFit
    d.add(name, [a, d.like(a, shape)])


def gemm(d: Draw, name: str) -> None:
    a = d.value(FLOATS, rank=(2, 2))
    trans_a, trans_b = d.choose((0, 1, None)), d.choose((0, 1, None))
    rows, depth = a.shape[::-1] if trans_a else a.shape
    columns = d.extent(1)
    if rows * columns > MOST_ELEMENTS or depth * columns > MOST_ELEMENTS:
        raise NoFit
    b = d.like(a, (columns, depth) if trans_b else (depth, columns))
    shapes = ((rows, columns), (columns,), (1, columns), (rows, 1), (1,), ())
    c = d.like(a, d.choose(shapes)) if d.chance(0.6) or d.opset < 11 else None
    alpha, beta = (d.choose((0.5, 2.0, None)) for _ in range(2))
    d.add(name, [a, b, c], transA=trans_a, transB=trans_b, alpha=alpha, beta=beta)


def matmul_integer(d: Draw, name: str) -> None:
    a = d.value(("uint8", "int8"), rank=(2, 4), low=-200, high=200)
    if a.shape[-1] == 0:
        raise NoFit  # as in matmul
    dtype = d.choose(("uint8", "int8"))
    batch = a.shape[:-2][d.integer(0, a.rank - 2) :]
    b = d.weight(dtype, (*batch, a.shape[-1], d.choose((1, 2, 3, 5, 17))), -9, 9)

    def zero(of: str, extents):
        v = d.constant([d.integer(0, 5)] * d.choose(extents), of)
        if len(v.array) == 1 and d.chance(0.7):
            v.array = v.array.reshape(())
        return v

    a_zero = zero(a.dtype, (1, 1)) if d.chance(0.5) else None
    b_zero = zero(dtype, (1, b.shape[-1] if b.rank == 2 else 1)) if d.chance(0.5) else None
    d.add(name, [a, b, a_zero, b_zero])


def quantised_matmul(d: Draw, name: str) -> None:
    """Scales are powers of two, as in quantisation.py; the peer takes one scale for the first factor."""
    a = d.value(("uint8", "int8"), rank=(2, 4), low=-200, high=200)
    if a.shape[-1] == 0:
        raise NoFit  # as in matmul
    columns = d.choose((1, 2, 3, 5, 17))
    b = d.weight("int8" if a.dtype == "int8" else d.choose(("uint8", "int8")), (a.shape[-1], columns), -9, 9)
    count = () if d.chance(0.5) else (d.choose((1, columns)),)

    def scale(shape) -> Value:
        return d.constant(np.array(d.choose((0.25, 0.5, 1.0)) * np.ones(shape), "float32"))

    def zero(of: str, shape) -> Value:
        return d.constant(d.elements(of, shape, 0, 5))

    a_parameters = [scale(()), zero(a.dtype, ())]
    b_parameters = [scale(count), zero(b.dtype, count)]
    d.add(name, [a, *a_parameters, b, *b_parameters, scale(()), zero(a.dtype, ())])


def einsum(d: Draw, name: str) -> None:
    a = d.value(DTYPES, rank=(2, 2), least=1)
    (rows, depth), columns = a.shape, d.choose((1, 2, 3, 5))
    if a.array.size * columns > MOST_ELEMENTS:
        raise NoFit
    if d.chance(0.3):
        d.add(name, [a], equation=d.choose(("ij->ji", "ij->i", "ij->", "...i->...")))
        return
    shape, equation = d.choose(
        (
            ((depth, columns), "ij,jk->ik"),
            ((columns, depth), "ij,kj"),
            ((rows, depth), "ij,ij->i"),
            ((depth,), "ij, j -> ij"),
            ((columns,), "ij,k->kij"),
        )
    )
    d.add(name, [a, d.like(a, shape)], equation=equation)


ROWS = {
    "Einsum": (einsum, 12, 21, True),
    "Gemm": (gemm, 7, 21, False),
    "MatMul": (matmul, 7, 21, True),
    "MatMulInteger": (matmul_integer, 10, 21, True),
    "QLinearMatMul": (quantised_matmul, 10, 21, True),
}
