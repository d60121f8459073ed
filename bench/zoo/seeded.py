"""Numbers from names: the same key gives the same array on every machine and with every version of NumPy.

Only the raw bits of PCG64 are used, whose stream NumPy promises to keep; the step from bits to floats is exact
arithmetic written out here, so that no change of a sampling routine can change a network.
"""

import hashlib
from collections.abc import Iterator

import numpy as np

CHUNK = 1 << 21  # 64-bit words made at a time, so that a weight of 400 MB needs little more than itself


def raw_bits(key: str, count: int) -> Iterator[np.ndarray]:
    """Yields `count` random 32-bit words in pieces."""
    source = np.random.PCG64(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16], "little"))
    while count > 0:
        words = source.random_raw(min(CHUNK, (count + 1) // 2)).astype("<u8", copy=False).view("<u4")[:count]
        count -= len(words)
        yield words


def uniform(key: str, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Float32 numbers in [low, high), 24 random bits each."""
    result = np.empty(shape, np.float32)
    flat = result.reshape(-1)
    at = 0
    for words in raw_bits(key, flat.size):
        unit = (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
        flat[at : at + len(words)] = unit * np.float32(high - low) + np.float32(low)
        at += len(words)
    return result


def integers(key: str, shape: tuple[int, ...], below: int) -> np.ndarray:
    """Int64 numbers in [0, below)."""
    count = int(np.prod(shape, dtype=np.int64))
    words = [(words.astype(np.uint64) * np.uint64(below)) >> np.uint64(32) for words in raw_bits(key, count)]
    return np.concatenate(words).astype(np.int64).reshape(shape)
