#!/usr/bin/env python3
"""How many images each file of scores got right: accuracy.py LABELS.npy SCORES.npz... Needs no packages."""

import ast
import struct
import sys
import zipfile
from pathlib import Path

FORMATS = {"|u1": "B", "<f4": "f"}


def numbers(npy: bytes) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Shape and elements of a .npy file of bytes or float32."""
    size = struct.unpack_from("<H", npy, 8)[0]
    head = ast.literal_eval(npy[10 : 10 + size].decode())
    form = FORMATS[head["descr"]]
    body = npy[10 + size :]
    return head["shape"], struct.unpack(f"<{len(body) // struct.calcsize(form)}{form}", body)


def right(labels: tuple[float, ...], npz: str) -> int:
    """How many rows of the scores have the largest one at their label."""
    with zipfile.ZipFile(npz) as archive:
        (rows, columns), scores = numbers(archive.read("scores.npy"))
    if rows != len(labels):
        sys.exit(f"{npz}: scores of {rows} images, and there are {len(labels)} labels")
    count = 0
    for row, label in enumerate(labels):
        of_image = scores[row * columns : (row + 1) * columns]
        count += of_image.index(max(of_image)) == label
    return count


def main() -> None:
    """A line for each file of scores."""
    labels = numbers(Path(sys.argv[1]).read_bytes())[1]
    for npz in sys.argv[2:]:
        count = right(labels, npz)
        print(f"{npz}: {count} of {len(labels)}, {100 * count / len(labels):.2f} %")


if __name__ == "__main__":
    main()
