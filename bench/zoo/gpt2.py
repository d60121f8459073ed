"""GPT-2 (Radford et al., 2019), 124 million parameters: one decoding step after 128 tokens, and reading 128 tokens."""

import numpy as np

from . import attention, seeded
from . import layers as nn
from .graph import Graph, Sample, Value

VOCABULARY = 50257
FEATURES = 768
LAYERS = 12
HEADS = 12
POSITIONS = 1024
EPSILON = 1e-5
TOKENS = 128

Cache = tuple[Value, Value]


def gpt2_decode_p128(g: Graph) -> None:
    """One token, with the keys and values of 128 earlier ones as inputs."""
    ids, positions = integer_inputs(g, 1, TOKENS)
    caches = [cache_inputs(g, layer) for layer in range(LAYERS)]
    gpt2(g, ids, positions, caches)


def gpt2_prefill_128(g: Graph) -> None:
    """128 tokens at once with a causal mask."""
    ids, positions = integer_inputs(g, TOKENS, 0)
    gpt2(g, ids, positions, [None] * LAYERS)


def integer_inputs(g: Graph, count: int, first: int) -> tuple[Value, Value]:
    """Token numbers, and their positions from `first` on."""
    shape = (1, count)
    tokens = Sample(shape, lambda key: seeded.integers(key, shape, VOCABULARY))
    running = Sample(shape, lambda key: np.arange(first, first + count, dtype=np.int64)[None])
    ids = g.input("input_ids", shape, "int64", sample=tokens)
    return ids, g.input("position_ids", shape, "int64", sample=running)


def cache_inputs(g: Graph, layer: int) -> Cache:
    """Keys and values of the tokens so far."""
    shape = (1, HEADS, TOKENS, FEATURES // HEADS)
    return g.input(f"past.{layer}.k", shape), g.input(f"past.{layer}.v", shape)


def gpt2(g: Graph, ids: Value, positions: Value, caches: list[Cache] | list[None]) -> None:
    """Embeddings, blocks, the next token's logits by the embedding's own table."""
    tokens = attention.embedding(g, "tokens", VOCABULARY, FEATURES)
    places = attention.embedding(g, "positions", POSITIONS, FEATURES)
    x = nn.add(g, nn.rows(g, tokens, ids), nn.rows(g, places, positions))
    count = ids.features
    mask = causal_mask(g, count) if count > 1 else None
    grown: list[Cache] = []
    for layer, past in enumerate(caches):
        with g.scope(f"block{layer}"):
            x, present = block(g, x, past, mask)
            grown.append(present)
    with g.scope("head"):
        x = nn.layer_norm(g, x, EPSILON)
        last = nn.slice_axis(g, x, 1, count - 1, count, (1, 1, FEATURES))
        output_table = nn.transpose(g, tokens, 1, 0)
        g.output("logits", nn.matmul(g, last, output_table))
    for layer, (keys, values) in enumerate(grown):
        g.output(f"present.{layer}.k", keys)
        g.output(f"present.{layer}.v", values)


def causal_mask(g: Graph, count: int) -> Value:
    """-10000 above the diagonal: no token sees a later one."""
    return g.constant("causal_mask", np.triu(np.full((count, count), -10000.0, np.float32), 1))


def block(g: Graph, x: Value, past: Cache | None, mask: Value | None) -> tuple[Value, Cache]:
    """Attention and a two-layer network, each on its normalised input and added to it."""
    with g.scope("attention"):
        q, k, v = split_three(g, nn.projection(g, nn.layer_norm(g, x, EPSILON), 3 * FEATURES))
        if past:
            k, v = nn.concat(g, [past[0], k], 2), nn.concat(g, [past[1], v], 2)
        y = attention.join_heads(g, attention.attend(g, q, k, v, mask))
        x = nn.add(g, x, nn.projection(g, y, FEATURES))
    with g.scope("feed_forward"):
        y = nn.gelu_tanh(g, nn.projection(g, nn.layer_norm(g, x, EPSILON), 4 * FEATURES))
        return nn.add(g, x, nn.projection(g, y, FEATURES)), (k, v)


def split_three(g: Graph, x: Value) -> tuple[Value, Value, Value]:
    """Queries, keys and values out of one product, split into heads."""
    third = x.features // 3
    parts = [Value(g.fresh("part"), (*x.shape[:2], third), power=x.power) for _ in range(3)]
    g.add_node("Split", [x, g.indices(third, third, third)], parts, axis=2)
    q, k, v = (attention.split_heads(g, part, HEADS) for part in parts)
    return q, k, v
