"""Images of another size."""

import numpy as np

from ..draw import Draw
from .windows import image

COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", None)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", None)


def upsample(d: Draw, name: str) -> None:
    x = image(d, ("float32",))
    mode = "linear" if d.chance(0.3) else "nearest"
    scales = [1.0, 1.0] + [float(d.choose((1, 2, 3))) for _ in range(x.rank - 2)]
    if d.opset < 9:
        d.add(name, [x], scales=scales, mode=mode)
    else:
        d.add(name, [x, d.constant(np.array(scales, "float32"))], mode=mode)


def resize(d: Draw, name: str) -> None:
    if d.opset == 10:
        upsample(d, name)
        return
    x = image(d, ("float32",))
    mode = d.choose(("nearest", "nearest", "linear", "cubic")) if x.rank == 4 else d.choose(("nearest", "linear"))
    # With aligned corners, the ratio is one of extents less 1, and never a power of two.
    coordinates = d.choose([c for c in COORDINATES if mode != "nearest" or c != "align_corners"])
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    if mode == "nearest":
        attributes["nearest_mode"] = d.choose(ROUNDINGS)
    if mode == "cubic":
        attributes["cubic_coeff_a"] = d.choose((-0.5, None))
    space = x.shape[2:]
    nearest = mode == "nearest"
    # ONNX Runtime wants the region of interest to have the dtype of the scales, even where it is empty.
    region = d.constant(np.zeros(0, "float32")) if d.opset < 13 else None
    if d.chance(0.5):
        whole = (1, 2, 4) if nearest else (1, 2, 3)
        scales = [float(d.choose(whole)) if d.chance(0.7) or e % 2 else 0.5 for e in space]
        values = [x, region, d.constant(np.array([1.0, 1.0, *scales], "float32"))]
    else:
        # Places are exact in float32 where the ratio is a power of two. Elsewhere the nearest pixel hangs on a rounding.
        sizes = [d.choose((e, 2 * e, 4 * e) if nearest else (1, 2, 3, 5, 7, 2 * e, e + 1)) for e in space]
        empty = d.constant(np.zeros(0, "float32")) if d.opset < 13 else None
        values = [x, region, empty, d.constant([*x.shape[:2], *sizes])]
    d.add(name, values, **attributes)


ROWS = {
    "Resize": (resize, 10, 21, False, True),
    "Upsample": (upsample, 7, 9, False, True),
}
