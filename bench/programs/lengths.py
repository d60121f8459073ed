"""One artifact of the transformer at every length and batch, and what it costs to run its step through control flow."""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from harness import compiling, noise, options, progress, timing
from relay_so import Model

from . import peer
from .catalogue import HEADS, LAYERS, LONGEST, PROGRAMS, VOCABULARY, WIDTH, Arrays
from .files import write_safetensors

LARGEST_DIFFERENCE = 1e-5  # of the largest magnitude
BATCHES = range(2, 17)
LENGTHS_OF_BATCHES = (1, 2, 7, 16, 63, 64, 65, 129, 300)  # tokens before and now, of every batch but the first
RUNS, ROUNDS, SECONDS = 20, 15, 2.0
SHAPES = ((1, 1, 0), (1, 1, 100), (1, 64, 0), (4, 17, 40), (1, 300, 0))  # batch, tokens, tokens before: of the overhead

# The step behind a condition that only the run knows: it is no static dataflow any more.
CHOICE = """
def @chosen(%first: bool, PARAMETERS) {{
  if (%first) {{ @step({arguments}) }} else {{ @step({exchanged}) }}
}}
"""


def run(relay: Path) -> int:
    """0 is good, 1 says that a program did not compile or results differ."""
    if refused := compiling.cannot_begin((), [], relay):
        return refused
    torch.set_num_threads(1)
    program = PROGRAMS["transformer"]
    rng = np.random.default_rng(0)
    weights = program.weights(rng)
    options.home().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lengths-", dir=options.home()) as name:
        folder = Path(name)
        model = folder / "transformer.relay"
        model.write_text(program.text + choice(program.text), encoding="utf-8")
        write_safetensors(weights, model.with_suffix(".safetensors"))
        try:
            step = Model(compiled(relay, model, "step"), 1)
            every_length(step, weights, rng)
            overhead(step, Model(compiled(relay, model, "chosen"), 1), rng)
        except ValueError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    return 0


def choice(program: str) -> str:
    """The function `chosen`, with the parameters of `step`."""
    begin = program.index("def @step(") + len("def @step(")
    parameters = program[begin : program.index(") {", begin)]
    caches = [f"%{kind}{layer}" for layer in range(LAYERS) for kind in "kv"]
    exchanged = [f"%{kind}{layer}" for layer in range(LAYERS) for kind in "vk"]
    text = CHOICE.format(arguments=", ".join(["%tokens", *caches]), exchanged=", ".join(["%tokens", *exchanged]))
    return text.replace("PARAMETERS", parameters)


def compiled(relay: Path, model: Path, function: str) -> Path:
    """The artifact of one function."""
    progress.say(f"bench: compiling @{function}")
    made = compiling.compile_model(relay, model, model.with_name(f"{function}.so"), 1, [], function)
    if made.artifact is None:
        raise ValueError(made.reason)
    return made.artifact


def arguments(rng: np.random.Generator, batch: int, tokens: int, before: int) -> list[np.ndarray]:
    """Tokens, and keys and values of those before them."""
    cache = (batch, HEADS, before, WIDTH // HEADS)
    return [
        rng.integers(0, VOCABULARY, (batch, tokens)),
        *(rng.standard_normal(cache).astype(np.float32) for _ in range(2 * LAYERS)),
    ]


def cases() -> Iterator[tuple[int, int, int]]:
    """Batch, tokens, tokens before."""
    for length in range(1, LONGEST + 1):
        yield 1, length, 0
        yield 1, 1, length - 1
    for batch in BATCHES:
        for length in LENGTHS_OF_BATCHES:
            yield batch, length, 0
            yield batch, 1, length
            yield batch, length, length
    yield BATCHES[-1], LONGEST, 0


def cost(case: tuple[int, int, int]) -> float:
    """About how long a case takes, beside another: products with weights, and attention."""
    batch, tokens, before = case
    return batch * tokens * (12 * WIDTH + tokens + before)


def every_length(model: Model, weights: Arrays, rng: np.random.Generator) -> None:
    """Holds what the artifact gives against PyTorch."""
    theirs = peer.transformer_step({key: torch.from_numpy(value) for key, value in weights.items()})
    context = model.context()
    worst, every = 0.0, list(cases())
    line = progress.Progress("bench", sum(map(cost, every)))
    for count, (batch, tokens, before) in enumerate(every, 1):
        inputs = arguments(rng, batch, tokens, before)
        with torch.inference_mode():
            scores, kept = theirs(torch.from_numpy(inputs[0]), [torch.from_numpy(x) for x in inputs[1:]])
        for ours, wanted in zip(context.run(inputs), [scores, *kept], strict=True):
            expected = wanted.numpy()
            difference = float(np.abs(ours - expected).max() / np.abs(expected).max())
            worst = max(worst, difference)
            if not difference <= LARGEST_DIFFERENCE:
                raise ValueError(f"batch {batch}, {tokens} tokens after {before}: results differ by {difference:.1e}")
        line.step(cost((batch, tokens, before)), f"{count} of {len(every)} runs")
    line.end()
    print(
        f"one artifact, {len(every)} runs: lengths 1 to {LONGEST} with and without a cache, batches 1 to {BATCHES[-1]}; "
        f"largest difference to PyTorch {worst:.1e}",
        flush=True,
    )


class Run:
    """An artifact on fixed inputs, as the harness times engines."""

    def __init__(self, model: Model, inputs: list[np.ndarray]) -> None:
        context = model.context()
        self.results = context.run(inputs)
        self.run = context.bind(inputs, self.results)

    def outputs(self) -> Arrays:
        """What the last run computed."""
        return {str(i): result for i, result in enumerate(self.results)}


def overhead(plain: Model, chosen: Model, rng: np.random.Generator) -> None:
    """Times the step as static dataflow, and behind a condition, in turns."""
    print(" batch tokens before  static us  chosen us  ratio others", flush=True)
    ratios = []
    for batch, tokens, before in SHAPES:
        inputs = arguments(rng, batch, tokens, before)
        engines = [Run(plain, inputs), Run(chosen, [np.array(True), *inputs])]
        if any(not np.array_equal(a, b) for a, b in zip(*(engine.results for engine in engines), strict=True)):
            raise ValueError("the step behind a condition gives other results")
        before_timing = noise.read()
        rounds = timing.measure(engines, timing.plan(engines, RUNS, ROUNDS, SECONDS))
        others = noise.others(before_timing, noise.read())
        static, behind = (statistics.median(sample for turn in turns for sample in turn) for turns in rounds)
        ratios.append(behind / static)
        print(
            f"{batch:>5} {tokens:>6} {before:>6} {1e6 * static:>10.1f} {1e6 * behind:>10.1f} {ratios[-1]:>6.3f} "
            f"{'-' if others is None else format(others, '.0%'):>6}",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.3f} of {len(ratios)}")
