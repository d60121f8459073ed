"""Images at other places, regions of images, and boxes."""

import numpy as np

from ..draw import Draw, Value


def pictures(d: Draw) -> Value:
    """[batch, channels, height, width], with something in it."""

    def shape():
        return (d.choose((1, 2, 3)), d.choose((1, 2, 4, 8)), d.choose((1, 2, 3, 5, 8)), d.choose((1, 2, 4, 7, 11)))

    return d.value(("float32",), rank=(4, 4), least=1, shape=shape, fits=lambda v: v.array.size < 3000)


def grid_sample(d: Draw, name: str) -> None:
    x = pictures(d)
    modes = ("nearest", "bilinear", "bicubic") if d.opset < 20 else ("nearest", "linear", "cubic")
    mode = d.choose((*modes, None))
    # A place in the middle of two pixels is that of whole numbers; another one might be rounded to either.
    whole = True if mode == "nearest" else None
    grid = d.new("float32", (x.shape[0], d.integer(1, 6), d.integer(1, 6), 2), -2, 2, whole)
    padding = d.choose(("zeros", "border", "reflection", None))
    d.add(name, [x, grid], mode=mode, padding_mode=padding, align_corners=d.choose((0, 1, None)))


def affine_grid(d: Draw, name: str) -> None:
    axes = d.choose((2, 2, 3))
    batch = d.choose((1, 2))
    theta = d.new("float32", (batch, axes, axes + 1), -2, 2)
    corners = d.choose((0, 1, None))
    size = [batch, 1, *[d.integer(2 if corners else 1, 6) for _ in range(axes)]]
    d.add(name, [theta, d.constant(size)], align_corners=corners)


def regions(d: Draw, x: Value, count: int) -> np.ndarray:
    """x1, y1, x2, y2: mostly in the image, some beyond it, with quarters of pixels."""
    numpy = np.random.default_rng(d.rng.getrandbits(64))
    height, width = x.shape[2:]
    sides = numpy.integers(-4, 4 * np.array([width, height, width, height]) + 5, (count, 4)) / 4
    return np.concatenate([np.minimum(sides[:, :2], sides[:, 2:]), np.maximum(sides[:, :2], sides[:, 2:])], 1)


def roi_align(d: Draw, name: str) -> None:
    x = pictures(d)
    count = d.integer(1, 4)
    rois = d.input(regions(d, x, count).astype("float32"))
    index = d.input(np.array([d.integer(0, x.shape[0] - 1) for _ in range(count)], "int64"))
    attributes = {"output_height": d.choose((1, 2, 4, None)), "output_width": d.choose((1, 2, 4, None))}
    if d.opset >= 16:
        attributes["coordinate_transformation_mode"] = d.choose(("half_pixel", "output_half_pixel", None))
    scale, ratio = d.choose((0.5, 0.25, 1.0, None)), d.choose((0, 1, 2, 3, None))
    d.add(name, [x, rois, index], sampling_ratio=ratio, spatial_scale=scale, **attributes)


def max_roi_pool(d: Draw, name: str) -> None:
    x = pictures(d)
    count = d.integer(1, 4)
    index = [[d.integer(0, x.shape[0] - 1)] for _ in range(count)]
    rois = d.input(np.concatenate([index, np.round(regions(d, x, count))], 1).astype("float32"))
    d.add(name, [x, rois], pooled_shape=[d.integer(1, 4), d.integer(1, 4)], spatial_scale=d.choose((0.5, 1.0, None)))


def non_max_suppression(d: Draw, name: str) -> None:
    batch, classes, count = d.choose((1, 2)), d.choose((1, 2, 3)), d.integer(1, 12)
    numpy = np.random.default_rng(d.rng.getrandbits(64))
    boxes = d.input(numpy.integers(0, 9, (batch, count, 4)).astype("float32"))
    scores = d.input((numpy.integers(-4, 20, (batch, classes, count)) / 16).astype("float32"))
    most = d.constant(np.array([d.choose((1, 2, 5, 20))], "int64")) if d.chance(0.9) else None
    overlap = d.constant(np.array([d.choose((0.0, 0.25, 0.5, 0.9))], "float32")) if d.chance(0.7) else None
    least = d.constant(np.array([d.choose((-1.0, 0.0, 0.5))], "float32")) if d.chance(0.7) else None
    d.add(name, [boxes, scores, most, overlap, least], center_point_box=d.choose((0, 1, None)))


ROWS = {
    "AffineGrid": (affine_grid, 20, 21),
    "GridSample": (grid_sample, 16, 21, False, True),
    "MaxRoiPool": (max_roi_pool, 7, 21),
    "NonMaxSuppression": (non_max_suppression, 10, 21, False, True),
    "RoiAlign": (roi_align, 10, 21, False, True),
}
