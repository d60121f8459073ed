"""What every engine looks like to the harness: fed once, then run again and again."""

from typing import Protocol

import numpy as np

Arrays = dict[str, np.ndarray]


class Engine(Protocol):
    """Something that runs one model on fixed inputs."""

    def run(self) -> None:
        """Runs once."""

    def outputs(self) -> Arrays:
        """What the last run computed."""
