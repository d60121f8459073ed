"""Elements in a tensor of another extent, determinants, and counts of n-grams."""

import numpy as np

from ..draw import ANY, Draw


def center_crop_pad(d: Draw, name: str) -> None:
    x = d.value(ANY, rank=(1, 4), least=1)
    axes = d.axes(x.rank, 1) if d.chance(0.5) else None
    count = x.rank if axes is None else len(axes)
    d.add(name, [x, d.constant([d.integer(1, 9) for _ in range(count)])], axes=axes)


def columns_to_image(d: Draw, name: str) -> None:
    axes = d.choose((1, 2, 2, 2))  # of three with padding, ONNX Runtime differs from ONNX's own results
    image, block = [d.integer(3, 6) for _ in range(axes)], [d.integer(1, 2) for _ in range(axes)]
    strides, dilations = [d.integer(1, 2) for _ in range(axes)], [d.integer(1, 2) for _ in range(axes)]
    pads = [d.integer(0, 1) for _ in range(2 * axes)]
    blocks = 1
    for i in range(axes):
        room = image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1
        blocks *= room // strides[i] + 1
    channels = d.integer(1, 3)
    x = d.new("float32", (d.integer(1, 2), channels * int(np.prod(block)), blocks))
    d.add(name, [x, d.constant(image), d.constant(block)], strides=strides, dilations=dilations, pads=pads)


def determinant(d: Draw, name: str) -> None:
    rows = d.integer(1, 5)
    batch = d.shape(0, 2, 1)
    x = d.value(("float32",), rank=(2, 4), shape=lambda: (*batch, rows, rows), fits=lambda v: v.shape[-1] == v.shape[-2] < 7)
    d.add(name, [x])


def ngrams(d: Draw, name: str) -> None:
    x = d.new("int64", (*d.shape(0, 1, 1), d.integer(3, 9)), 0, 4)
    pairs = sorted({(d.integer(0, 4), d.integer(0, 4)) for _ in range(d.integer(1, 6))})
    pool = [*range(5), *(item for pair in pairs for item in pair)]
    count = 5 + len(pairs)
    d.add(
        name, [x], mode=d.choose(("TF", "IDF", "TFIDF")), min_gram_length=d.choose((1, 2)), max_gram_length=2,
        max_skip_count=d.integer(0, 2), ngram_counts=[0, 5], ngram_indexes=list(range(count)), pool_int64s=pool,
        weights=[d.real(0, 2) for _ in range(count)],
    )  # fmt: skip


ROWS = {
    "CenterCropPad": (center_crop_pad, 18),
    "Col2Im": (columns_to_image, 18, 21, True),
    "Det": (determinant, 11),
    "TfIdfVectorizer": (ngrams, 9),
}
