"""Relay's artifact as an engine."""

from pathlib import Path

from relay_so import Model

from .engine import Arrays


class Ours:
    """A compiled model, loaded from its `.so` through the C interface as an application would."""

    def __init__(self, artifact: Path, inputs: Arrays, threads: int) -> None:
        model = Model(artifact, threads)
        context = model.context()
        ordered = [inputs[name] for name in model.names("inputs")]
        self._results = dict(zip(model.names("outputs"), context.run(ordered)))
        self._call = context.bind(ordered, list(self._results.values()))

    def run(self) -> None:
        self._call()

    def outputs(self) -> Arrays:
        return self._results
