"""Whether every operator of the importer is drawn, or left out for a reason that stands here."""

import json
import subprocess
from pathlib import Path

from .operators import OPERATORS

NEWER = "newer than the sets of operators that graphs are drawn for"
NO_TENSOR = "graphs are drawn with tensors, and no operator but these makes sequences or optional values of them"

# Operators that Relay imports and that are not drawn, with the reason.
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

# The same of whole domains: graphs are drawn with ONNX's own domain.
EXCLUDED_DOMAINS: dict[str, str] = {
    "ai.onnx.ml": "tests/conformance/contributed_ml.py makes its cases with ONNX Runtime",
    "ai.onnx.preview": "no operator set of ONNX's own domain knows it",
    "ai.onnx.preview.training": "the node cases of ONNX have it, and ONNX Runtime does not",
    "com.microsoft": "tests/conformance/contributed_microsoft.py makes its cases with ONNX Runtime",
}


def missing_operators(relay: Path) -> list[str]:
    """Where the importer and the table do not have the same operators."""
    done = subprocess.run([str(relay), "ops", "--onnx", "--json"], capture_output=True, text=True, check=True)
    names = {operator["name"] for operator in json.loads(done.stdout) if not operator["refused"]}
    domains = {name.rpartition(".")[0] for name in names} - {""}
    imported = {name for name in names if "." not in name}
    drawn = set(OPERATORS) | set(EXCLUDED)
    return [
        *(
            f"{name} is imported, and neither drawn nor excluded: add it to graphs/operators or graphs/complete.py"
            for name in sorted(imported - drawn)
        ),
        *(f"{name} is not imported any more" for name in sorted(drawn - imported)),
        *(f"{name} is both drawn and excluded" for name in sorted(set(OPERATORS) & set(EXCLUDED))),
        *(
            f"the domain {domain} is imported, and not excluded: add it to graphs/complete.py"
            for domain in sorted(domains - set(EXCLUDED_DOMAINS))
        ),
        *(f"the domain {domain} is not imported any more" for domain in sorted(set(EXCLUDED_DOMAINS) - domains)),
    ]
