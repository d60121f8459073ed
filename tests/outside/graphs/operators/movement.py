"""Elements that change their places: transposing, joining, cutting, padding."""

import numpy as np

from ..draw import ANY, FLOATS, MOST_ELEMENTS, Draw, NoFit

FAR = (2**31 - 1, 2**62)


def transpose(d: Draw, name: str) -> None:
    x = d.value(ANY)
    d.add(name, [x], perm=d.rng.sample(range(x.rank), x.rank) if x.rank and d.chance(0.8) else None)


def concat(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4))
    axis = d.axis(x.rank) if d.opset >= 11 else d.integer(0, x.rank - 1)
    parts = [x]
    for _ in range(d.choose((0, 1, 1, 1, 2, 3))):
        shape = list(x.shape)
        shape[axis] = d.choose((0, 1, 2, 3, shape[axis]))
        parts.append(d.like(x, tuple(shape)))
    d.rng.shuffle(parts)
    d.add(name, parts, axis=axis)


def split(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4))
    axis = d.axis(x.rank) if d.opset >= 11 else d.integer(0, x.rank - 1)
    extent = x.shape[axis]
    parts = d.integer(1, 4)
    given = axis if axis % x.rank or d.chance(0.5) else None
    if d.chance(0.5):
        if d.opset >= 18:
            if extent < parts:
                raise NoFit
            d.add(name, [x], parts, axis=given, num_outputs=parts)
        elif extent % parts == 0:
            d.add(name, [x], parts, axis=given)
        else:
            raise NoFit
        return
    cuts = sorted(d.integer(0, extent) for _ in range(parts - 1))
    sizes = np.diff([0, *cuts, extent]).tolist()
    if d.opset < 13:
        d.add(name, [x], parts, axis=given, split=sizes)
    else:
        d.add(name, [x, d.constant(sizes)], parts, axis=given)


def slice_of(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4))
    axes = d.axes(x.rank, 1)
    starts, ends, steps = [], [], []
    for a in axes:
        e = x.shape[a]
        step = d.choose((1, 1, 1, 2, 3, -1, -2)) if d.opset >= 10 else 1
        first, last = d.integer(-e - 2, e + 2), d.integer(-e - 2, e + 2)
        starts.append(first)
        far = d.choose(FAR) * (1 if step > 0 else -1)  # ONNX Runtime gets it wrong in the other direction
        ends.append(far if d.chance(0.2) else last)
        steps.append(step)
    if d.opset < 10:
        d.add(name, [x], starts=starts, ends=ends, axes=[a % x.rank for a in axes])
        return
    dtype = d.choose(("int64", "int64", "int32"))
    ends = [int(np.clip(e, -(2**31), 2**31 - 1)) for e in ends] if dtype == "int32" else ends
    plain = axes == list(range(x.rank)) and d.chance(0.7)
    axes_value = None if plain else d.constant(axes, dtype)
    no_steps = all(s == 1 for s in steps) and d.chance(0.6)
    d.add(
        name,
        [
            x,
            d.constant(starts, dtype),
            d.constant(ends, dtype),
            axes_value,
            None if no_steps else d.constant(steps, dtype),
        ],
    )


def pad(d: Draw, name: str) -> None:
    x = d.value((*FLOATS, "int32", "int64", "uint8", "bool") if d.opset >= 13 else FLOATS, rank=(1, 4))
    mode = d.choose(("constant", "constant", "reflect", "edge", None))
    pads = []
    for i in range(2 * x.rank):
        e = x.shape[i % x.rank]
        most = 3 if mode in ("constant", None) else (min(3, e - 1) if mode == "reflect" else 3)
        low = -1 if d.chance(0.1) and e > 3 else 0
        pads.append(0 if d.chance(0.5) else d.integer(low, max(low, most)))
    if mode in ("reflect", "edge") and 0 in x.shape:
        raise NoFit
    if d.opset < 11:
        d.add(name, [x], mode=mode, pads=pads, value=d.choose((1.5, None)))
        return
    value = None
    if d.chance(0.5):
        value = d.constant([d.integer(0, 3)], x.dtype)
        value.array = value.array.reshape(())
    axes = None
    if d.opset >= 18 and d.chance(0.3):
        chosen = d.axes(x.rank, 1)
        pads = [pads[a % x.rank] for a in chosen] + [pads[x.rank + a % x.rank] for a in chosen]
        axes = d.constant(chosen)  # the peer says that int32 is no dtype for them
    d.add(name, [x, d.constant(pads), value, axes], mode=mode)


def tile(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4))
    repeats = [0 if d.chance(0.02) else d.choose((1, 1, 2, 3)) for _ in range(x.rank)]
    if x.array.size * int(np.prod(repeats)) > MOST_ELEMENTS:
        raise NoFit
    d.add(name, [x, d.constant(repeats)])


def blocks(d: Draw, name: str) -> None:
    b = d.choose((1, 2, 2, 3))

    def shape():
        n, c, h, w = d.choose((1, 2, 0, 1, 1)), d.choose((1, 2, 3)), d.choose((1, 2, 3, 5)), d.choose((1, 2, 3, 7))
        return (n, c * b * b, h, w) if name == "DepthToSpace" else (n, c, h * b, w * b)

    def fits(v):
        return v.shape[1] % (b * b) == 0 if name == "DepthToSpace" else v.shape[2] % b == 0 and v.shape[3] % b == 0

    x = d.value(FLOATS, rank=(4, 4), shape=shape, fits=fits)
    mode = d.choose(("DCR", "CRD", None)) if name == "DepthToSpace" and d.opset >= 11 else None
    d.add(name, [x], blocksize=b, mode=mode)


def reverse_sequence(d: Draw, name: str) -> None:
    x = d.value((*FLOATS, "int32"), rank=(2, 4), least=1)
    time = d.integer(0, 1)
    lengths = d.constant([d.integer(1, x.shape[time]) for _ in range(x.shape[1 - time])])
    given = (1, 0) if time == 1 else (0, 1) if d.chance(0.5) else (None, None)
    d.add(name, [x, lengths], time_axis=given[0], batch_axis=given[1])


ROWS = {
    "Concat": (concat, 7, 21, True),
    "DepthToSpace": (blocks, 7, 21, True),
    "Pad": (pad, 7, 21, True),
    "ReverseSequence": (reverse_sequence, 10, 21, True),
    "Slice": (slice_of, 7, 21, True),
    "SpaceToDepth": (blocks, 7, 21, True),
    "Split": (split, 7, 21, True),
    "Tile": (tile, 7, 21, True),
    "Transpose": (transpose, 7, 21, True),
}
