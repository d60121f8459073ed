"""Runs a model that `relay compile` made from Python, with the package `relay` (docs/python.md).

    relay compile examples/models/mnist_8/model.onnx -o mnist.so
    python3 examples/deploy/deploy_package.py ./mnist.so examples/models/mnist_8/digits/images.npy 7

The last argument is the number of the image: ten are zeros, the next ten are ones, and so on. The program prints the digit
that the model sees. deploy.py does the same with ctypes, where the package is not installed.
"""

import sys

import numpy as np

import relay


def digit(model: relay.Compiled, image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> int:
    """What the model sees in 28 x 28 bytes."""
    scores = model(image.astype(np.float32).reshape(1, 1, 28, 28))
    return int(scores.argmax())


def main() -> None:
    """Reads the command line."""
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} mnist.so images.npy NUMBER")
    library, images, number = sys.argv[1:]
    try:
        with relay.open(library, threads=1) as model:
            print(digit(model, np.load(images)[int(number)]))
    except (relay.Error, OSError, ValueError, IndexError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")


if __name__ == "__main__":
    main()
