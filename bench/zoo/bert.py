"""BERT (Devlin et al., 2018): the base model at sequence length 128, and a tiny one with dynamic shapes."""

from dataclasses import dataclass

import numpy as np

from . import attention, seeded
from . import layers as nn
from .graph import Graph, Sample, Shape, Value

POSITIONS = 512
EPSILON = 1e-12


@dataclass(frozen=True)
class Size:
    """What distinguishes one BERT from another."""

    vocabulary: int
    features: int
    layers: int
    heads: int
    hidden: int


BASE = Size(vocabulary=30522, features=768, layers=12, heads=12, hidden=3072)
TINY = Size(vocabulary=1000, features=128, layers=2, heads=2, hidden=512)


def bert_base_s128(g: Graph) -> None:
    """Batch 1, 128 tokens, every shape known."""
    bert(g, BASE, (1, 128), (1, 128))


def bert_tiny_dyn(g: Graph) -> None:
    """Batch and sequence length are known when it runs."""
    bert(g, TINY, ("batch", "sequence"), (1, 32))


def bert(g: Graph, size: Size, shape: Shape, sample: tuple[int, int]) -> None:
    """Embeddings, encoder, pooler."""
    tokens = Sample(sample, lambda key: seeded.integers(key, sample, size.vocabulary))
    ones = Sample(sample, lambda key: np.ones(sample, np.int64))
    zeros = Sample(sample, lambda key: np.zeros(sample, np.int64))
    ids = g.input("input_ids", shape, "int64", sample=tokens)
    attended = g.input("attention_mask", shape, "int64", sample=ones)
    segments = g.input("token_type_ids", shape, "int64", sample=zeros)
    x = embed(g, size, ids, segments)
    mask = additive_mask(g, attended)
    for index in range(size.layers):
        with g.scope(f"layer{index}"):
            x = encoder_layer(g, size, x, mask)
    g.output("last_hidden_state", x)
    with g.scope("pooler"):
        first = g.node("Gather", [x, g.constant("first", np.array(0, np.int64))], (shape[0], size.features), axis=1)
        g.output("pooler_output", nn.tanh(g, nn.linear(g, first, size.features)))


def embed(g: Graph, size: Size, ids: Value, segments: Value) -> Value:
    """Token, segment and position, added and normalised."""
    with g.scope("embeddings"):
        x = nn.rows(g, attention.embedding(g, "tokens", size.vocabulary, size.features), ids)
        x = nn.add(g, x, nn.rows(g, attention.embedding(g, "segments", 2, size.features), segments))
        table = attention.embedding(g, "positions", POSITIONS, size.features)
        x = nn.add(g, x, nn.rows(g, table, position_ids(g, ids)))
        return nn.layer_norm(g, x, EPSILON)


def position_ids(g: Graph, ids: Value) -> Value:
    """0, 1, 2, ... as long as the sequence, of batch 1."""
    every = g.constant("position_ids", np.arange(POSITIONS, dtype=np.int64)[None])
    length = ids.shape[1]
    end = nn.dim_of(g, ids, 1) if isinstance(length, str) else g.indices(length)
    return g.node("Slice", [every, g.indices(0), end, g.indices(1), g.indices(1)], (1, length), dtype="int64")


def additive_mask(g: Graph, attended: Value) -> Value:
    """0 where a token may be attended to and -10000 elsewhere, of shape (batch, 1, 1, sequence)."""
    batch, sequence = attended.shape
    with g.scope("mask"):
        x = g.node("Unsqueeze", [attended, g.indices(1)], (batch, 1, sequence), dtype="int64")
        x = g.node("Unsqueeze", [x, g.indices(2)], (batch, 1, 1, sequence), dtype="int64")
        x = nn.to_float(g, x)
        x = g.node("Sub", [g.scalar(1.0), x], x.shape)
        return g.node("Mul", [x, g.scalar(-10000.0)], x.shape)


def encoder_layer(g: Graph, size: Size, x: Value, mask: Value) -> Value:
    """Attention and a two-layer network, each added to its input and then normalised."""
    with g.scope("attention"):
        q, k, v = (attention.split_heads(g, nn.projection(g, x, size.features), size.heads) for _ in range(3))
        y = attention.join_heads(g, attention.attend(g, q, k, v, mask))
        x = nn.layer_norm(g, nn.add(g, x, nn.projection(g, y, size.features)), EPSILON)
    with g.scope("feed_forward"):
        y = nn.gelu(g, nn.projection(g, x, size.hidden))
        return nn.layer_norm(g, nn.add(g, x, nn.projection(g, y, size.features)), EPSILON)
