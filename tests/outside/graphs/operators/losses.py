"""Losses of predictions for classes."""

from ..draw import FLOATS, Draw, NoFit, Value
from .indexing import indices


def predictions(d: Draw) -> tuple[Value, list[Value | None], dict]:
    """Predictions [batch, classes, ...], the other inputs, and the attributes."""
    x = d.value(FLOATS, rank=(2, 4), fits=lambda v: 0 < v.array.size < 3000)
    if min(x.shape) < 1:
        raise NoFit
    classes = x.shape[1]
    targets = indices(d, (x.shape[0], *x.shape[2:]), classes, d.choose(("int32", "int64")), negative=False)
    weight = d.new(x.dtype, (classes,), 0.5, 2) if d.chance(0.4) else None
    reduction = d.choose((None, "mean", "sum", "none"))
    # With all targets ignored the mean is a quotient of zeros.
    ignored = d.integer(0, classes - 1) if d.chance(0.3) and reduction in ("sum", "none") else None
    return x, [targets, weight], {"reduction": reduction, "ignore_index": ignored}


def loss(d: Draw, name: str) -> None:
    x, others, attributes = predictions(d)
    d.add(name, [x, *others], **attributes)


ROWS = {
    "NegativeLogLikelihoodLoss": (loss, 12),
    "SoftmaxCrossEntropyLoss": (loss, 12),
}
