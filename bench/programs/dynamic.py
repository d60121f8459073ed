"""Programs with shape variables against the same ones compiled for the shapes that they are given."""

import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import compiling, noise, options, timing
from relay_so import Model

RUNS, ROUNDS, SECONDS = 40, 9, 1.0
LARGEST_DIFFERENCE = 1e-5  # of the largest magnitude: the two may sum in another order


Extents = dict[str, int]


@dataclass(frozen=True)
class Case:
    """A program of one function whose extents have names, and the values that these are given."""

    name: str
    body: str
    parameters: dict[str, tuple[int | str, ...]]  # the dims of each, a float32 tensor
    extents: tuple[Extents, ...]

    def program(self, known: Extents) -> str:
        """Its text, with these extents in the place of their names."""
        types = {
            name: f"Tensor[({', '.join(str(known.get(str(d), d)) for d in dims)}), float32]"
            for name, dims in self.parameters.items()
        }
        parameters = ", ".join(f"%{name}: {kind}" for name, kind in types.items())
        return f"def @main({parameters}) {{ {self.body} }}\n"


def batches(b: int, n: int, m: int) -> Extents:
    """Of products."""
    return {"b": b, "n": n, "m": m}


CASES = (
    Case(
        "elementwise",
        "tanh(%x * %y + 1f) * %x",
        {"x": ("n", "m"), "y": ("n", "m")},
        ({"n": 256, "m": 512}, {"n": 7, "m": 77}),
    ),
    Case(
        "dense",
        "nn.relu(nn.dense(%x, %w) + %b)",
        {"x": ("n", 256), "w": (1024, 256), "b": (1024,)},
        tuple({"n": n} for n in (1, 13, 37, 100, 128, 512)),
    ),
    Case(
        "batch_matmul",
        "nn.batch_matmul(%q, %k, transpose_b=True)",
        {"q": ("b", "n", 64), "k": ("b", "m", 64)},
        (batches(12, 128, 128), batches(12, 1, 128), batches(4, 33, 77)),
    ),
    Case(
        "attention",
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True) / 8f), %v, transpose_b=False)",
        {"q": ("b", "n", 64), "k": ("b", "m", 64), "v": ("b", "m", 64)},
        (batches(12, 128, 128), batches(12, 1, 300), batches(4, 33, 77)),
    ),
    Case(
        "softmax",
        "nn.softmax(%x)",
        {"x": ("n", "m")},
        ({"n": 256, "m": 512}, {"n": 64, "m": 100}, {"n": 12, "m": 2000}),
    ),
    Case(
        "layer_norm",
        "nn.layer_norm(%x, %g, %b)",
        {"x": ("n", "m"), "g": ("m",), "b": ("m",)},
        ({"n": 128, "m": 768}, {"n": 5, "m": 250}),
    ),
    Case(
        "layer_norm_768",
        "nn.layer_norm(%x, %g, %b)",
        {"x": ("n", 768), "g": (768,), "b": (768,)},
        ({"n": 128}, {"n": 7}),
    ),
)


class Run:
    """One artifact on fixed inputs, as the harness times engines."""

    def __init__(self, artifact: Path, inputs: list[np.ndarray]) -> None:
        context = Model(artifact, 1).context()
        self.results = context.run(inputs)
        self.run = context.bind(inputs, self.results)

    def outputs(self) -> dict[str, np.ndarray]:
        """What the last run computed."""
        return {str(i): result for i, result in enumerate(self.results)}


def run(only: tuple[str, ...], relay: Path) -> int:
    """0 is good, 1 says that something did not compile or results differ, 2 is a wrong name."""
    if refused := compiling.cannot_begin(only, [case.name for case in CASES], relay):
        return refused
    print(f"{'program':<15} {'extents':<20} {'known us':>9} {'open us':>9} {'ratio':>6} {'others':>6}", flush=True)
    ratios: list[float] = []
    options.home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dynamic-", dir=options.home()) as folder:
        for case in CASES:
            if not only or case.name in only:
                try:
                    ratios += measure(case, relay, Path(folder))
                except ValueError as error:
                    print(f"bench: {case.name}: {error}", file=sys.stderr)
                    return 1
    print(f"median ratio {statistics.median(ratios):.3f} of {len(ratios)}")
    return 0


def measure(case: Case, relay: Path, folder: Path) -> list[float]:
    """Prints a row for each choice of extents; gives the ratios."""
    open_artifact = compiled(case.program({}), relay, folder / f"{case.name}.so")
    ratios = []
    for extents in case.extents:
        values = "_".join(map(str, extents.values()))
        artifact = compiled(case.program(extents), relay, folder / f"{case.name}_{values}.so")
        rng = np.random.default_rng(0)
        shapes = [port["dims"] for port in Model(artifact, 1).describe()["inputs"]]
        inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        engines = [Run(artifact, inputs), Run(open_artifact, inputs)]
        expected, found = (engine.results[0].astype(np.float64) for engine in engines)
        if np.abs(expected - found).max() > LARGEST_DIFFERENCE * np.abs(expected).max():
            raise ValueError(f"with {extents} the results differ")
        before = noise.read()
        rounds = timing.measure(engines, timing.plan(engines, RUNS, ROUNDS, SECONDS))
        others = noise.others(before, noise.read())
        known, unknown = ([sample for turn in turns for sample in turn] for turns in rounds)
        ratios.append(statistics.median(unknown) / statistics.median(known))
        print(
            f"{case.name:<15} {' '.join(f'{k}={v}' for k, v in extents.items()):<20} "
            f"{1e6 * statistics.median(known):>9.2f} {1e6 * statistics.median(unknown):>9.2f} {ratios[-1]:>6.3f} "
            f"{'-' if others is None else format(others, '.0%'):>6}",
            flush=True,
        )
    return ratios


def compiled(program: str, relay: Path, artifact: Path) -> Path:
    """The program's artifact."""
    text = artifact.with_suffix(".relay")
    text.write_text(program, encoding="utf-8")
    made = compiling.compile_model(relay, text, artifact, 1, [])
    if made.artifact is None:
        raise ValueError(made.reason)
    return made.artifact
