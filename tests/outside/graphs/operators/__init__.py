"""The table of operators that graphs are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from ..draw import Draw
from . import activations, control_flow, elementwise, indexing, losses, movement, normalisation, placement, products
from . import quantisation, recurrent, reductions, resize, shapes, signal, sorting, vision, windows

FAMILIES = (
    elementwise, activations, windows, normalisation, products, reductions, shapes, movement, indexing, resize,
    quantisation, recurrent, control_flow, signal, sorting, losses, vision,
    placement,
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """How one operator is drawn, from `since` to `until` of the versions of the operator set."""

    draw: Callable[[Draw, str], None]
    since: int = 7
    until: int = 21
    exact: bool = False  # whole numbers give whole numbers, if no sum of them is large
    steps: bool = False  # an error of one ULP may change the result visibly, so it reads exact values alone


OPERATORS: dict[str, Row] = {name: Row(*row) for family in FAMILIES for name, row in family.ROWS.items()}

NEWER = "newer than the sets of operators that graphs are drawn for"

# Operators that Relay imports and that are not drawn, with the reason.
NO_TENSOR = "graphs are drawn with tensors, and no operator but these makes sequences or optional values of them"
EXCLUDED: dict[str, str] = {
    "Attention": NEWER,
    "Bernoulli": "ONNX leaves open which numbers a seed gives",
    "BitCast": NEWER,
    "CausalConvWithState": NEWER,
    "Compress": "as NonZero",
    "ConcatFromSequence": NO_TENSOR,
    "CumProd": NEWER,
    "LinearAttention": NEWER,
    "Multinomial": "ONNX leaves open which numbers a seed gives",
    "NonZero": "the extent of its result depends on data, and graphs are drawn with known extents",
    "Optional": NO_TENSOR,
    "OptionalGetElement": NO_TENSOR,
    "OptionalHasElement": NO_TENSOR,
    "RMSNormalization": NEWER,
    "RandomNormal": "ONNX leaves open which numbers a seed gives",
    "RandomNormalLike": "ONNX leaves open which numbers a seed gives",
    "RandomUniform": "ONNX leaves open which numbers a seed gives",
    "RandomUniformLike": "ONNX leaves open which numbers a seed gives",
    "RotaryEmbedding": NEWER,
    "SimplifiedLayerNormalization": "ONNX Runtime has it in ONNX's domain, and ONNX does not know it",
    "SequenceAt": NO_TENSOR,
    "SequenceConstruct": NO_TENSOR,
    "SequenceEmpty": NO_TENSOR,
    "SequenceErase": NO_TENSOR,
    "SequenceInsert": NO_TENSOR,
    "SequenceLength": NO_TENSOR,
    "SequenceMap": NO_TENSOR,
    "SplitToSequence": NO_TENSOR,
    "STFT": "its inputs are a signal and numbers that must fit it, which no other operator makes",
    "SwiGLU": NEWER,
    "Swish": NEWER,
    "TensorScatter": NEWER,
    "Unique": "as NonZero",
}
