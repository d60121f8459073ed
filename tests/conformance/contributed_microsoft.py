"""Cases of com.microsoft."""
import ml_dtypes
import numpy as np
from onnx import helper

F = np.float32


def products(c):
    def fused(name, a, b, **attributes):
        c.add(f"ms/fused_matmul_{name}", "FusedMatMul", [c.eighths(*a), c.eighths(*b)], **attributes)

    fused("alpha", (2, 3, 4), (2, 4, 5), alpha=.5, open={0: {0: "b", 1: "m"}, 1: {0: "b"}})
    fused("a", (2, 4, 3), (2, 4, 5), transA=1, open={0: {0: "b", 2: "m"}, 1: {0: "b"}})
    fused("b", (3, 4), (5, 4), transB=1)
    fused("batch", (3, 2, 4), (4, 2, 5), transBatchA=1, transBatchB=1)
    fused("batch_a", (4, 2, 3), (2, 4, 5), transBatchA=1, transA=1)
    fused("batch_b", (3, 2, 4), (5, 2, 4), transBatchA=1, transBatchB=1, transB=1)
    c.add("ms/transpose_matmul", "TransposeMatMul", [c.eighths(4, 3), c.eighths(4, 5)], transA=1)
    gemm = [c.eighths(2, 3), c.eighths(4, 3), c.eighths(4)]
    c.add("ms/fused_gemm_relu", "FusedGemm", gemm, activation="Relu", alpha=.5, beta=2., transB=1)
    c.add("ms/fused_gemm_leaky", "FusedGemm", gemm, activation="LeakyRelu", activation_alpha=.25, transB=1)
    for metric in ("euclidean", "sqeuclidean"):
        c.add(f"ms/cdist_{metric}", "CDist", [c.eighths(3, 4), c.eighths(5, 4)], metric=metric, near=(1e-5, 1e-5),
              open={0: {0: "m"}, 1: {0: "n"}})
    for size in (1, 2, 5):
        m = c.eighths(2, size, size) + 2 * np.eye(size, dtype=F)[::-1]
        c.add(f"ms/inverse_{size}", "Inverse", [m], near=(1e-5, 1e-5), open={0: {0: "b"}})
    c.add("ms/inverse_matrix", "Inverse", [np.array([[0, 2], [1, 0]], F)])


def few_bits(c):
    for bits in (2, 4, 8):
        for depth in (32, 40):
            size, columns = 16, 3
            blocks = -(-depth // size)
            weight = c.integers(0, 256, (columns, blocks, size * bits // 8), np.uint8)
            scales = (c.integers(1, 9, (columns, blocks)) / 16).astype(F)
            points = c.integers(0, 256, (columns, -(-blocks * bits // 8)), np.uint8)
            x = c.eighths(2, depth)
            more = dict(N=columns, K=depth, block_size=size, bits=bits, near=(1e-4, 1e-5))
            name = f"ms/matmul_{bits}_bits_{depth}"
            c.add(name, "MatMulNBits", [x, weight, scales], known=(1, 2), open={0: {0: "m"}}, **more)
            c.add(name + "_points", "MatMulNBits", [x, weight, scales, points], known=(1, 2, 3), **more)
    c.add("ms/matmul_4_bits_float_points", "MatMulNBits", [c.eighths(2, 32), c.integers(0, 256, (3, 2, 8), np.uint8),
          c.eighths(3, 2), c.integers(0, 16, (3, 2)).astype(F), None, c.eighths(3)], known=(1, 2, 3, 5), N=3, K=32,
          block_size=16, near=(1e-4, 1e-5))


def activations(c):
    x, bias = 4 * c.eighths(3, 6), c.eighths(6)
    rows = {0: {0: "rows"}}
    c.add("ms/gelu", "Gelu", [x], open=rows)
    c.add("ms/bias_gelu", "BiasGelu", [x, bias], open=rows)
    c.add("ms/fast_gelu", "FastGelu", [x], open=rows)
    c.add("ms/fast_gelu_bias", "FastGelu", [x, bias])
    c.add("ms/quick_gelu", "QuickGelu", [x])
    c.add("ms/quick_gelu_alpha", "QuickGelu", [x], alpha=1.5)


def movement(c):
    x = c.eighths(3, 4)
    c.add("ms/trilu", "Trilu", [x, np.array(1)])
    c.add("ms/expand_dims", "ExpandDims", [x, np.array(-2, np.int32)], known=(1,), open={0: {0: "rows"}})
    c.add("ms/pad", "Pad", [x, np.array([1, 0, 0, 2]), np.array([9], F)], known=(1,), open={0: {0: "rows"}})
    c.add("ms/pad_edge", "Pad", [x, np.array([1, 0, 0, 2])], known=(1,), mode="edge")
    c.add("ms/range", "Range", [np.array(1, F), np.array(5, F)])
    c.add("ms/range_step", "Range", [np.array(1, F), np.array(5, F), np.array(1.5, F)])
    c.add("ms/gather_nd", "GatherND", [x, np.array([[0, 1], [2, 3]])])
    c.add("ms/unique", "Unique", [np.array([3, 1, 3, 2, 1], F)], 3)
    image = np.arange(32).reshape(1, 2, 4, 4).astype(F)
    boxes = np.array([[0, 0, 1, 1], [.25, .25, 1.2, .7], [.9, .8, .1, .2]], F)
    for mode in ("bilinear", "nearest"):
        c.add(f"ms/crop_{mode}", "CropAndResize", [image, boxes, np.zeros(3, np.int32), np.array([2, 3], np.int32)],
              known=(3,), mode=mode, extrapolation_value=9., near=(1e-5, 1e-5))


def convolutions(c):
    inputs = [c.eighths(1, 2, 4, 4), c.eighths(3, 2, 2, 2), c.eighths(3), c.eighths(1, 3, 3, 3)]
    for name, parameters in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [.25]), ("Clip", [-.25, .5]),
                             ("HardSigmoid", [.25, .5])):
        more = {"activation_params": parameters} if parameters else {}
        c.add(f"ms/fused_conv_{name}", "FusedConv", inputs, activation=name, **more)
    c.add("ms/fused_conv_same", "FusedConv", inputs[:3], activation="Relu", auto_pad="SAME_UPPER")


def normalisation(c):
    x, skip, gamma, beta, bias = c.eighths(2, 3, 8), c.eighths(2, 3, 8), c.eighths(8), c.eighths(8), c.eighths(8)
    steps = {0: {0: "batch", 1: "steps"}}
    both = {0: {0: "batch", 1: "steps"}, 1: {0: "batch", 1: "steps"}}
    near = (1e-5, 1e-5)
    c.add("ms/layer_norm_13", "LayerNormalization", [x, gamma, beta], domain="", opset=13, near=near, open=steps)
    c.add("ms/simplified", "SimplifiedLayerNormalization", [x, gamma], 2, domain="", near=near, open=steps)
    c.add("ms/skip_layer_norm", "SkipLayerNormalization", [x, skip, gamma, beta, bias], 4, near=near, open=both)
    c.add("ms/skip_layer_norm_row", "SkipLayerNormalization", [x, skip[:1], gamma], near=near, epsilon=.5)
    c.add("ms/skip_simplified", "SkipSimplifiedLayerNormalization", [x, skip[0], gamma, bias], 4, near=near)
    c.add("ms/skip_simplified_plain", "SkipSimplifiedLayerNormalization", [x, skip, gamma], [0, 3], near=near, open=both)
    ids, segments = np.array([[1, 2, 0], [3, 1, 1]], np.int32), np.array([[0, 1, 0], [1, 1, 0]], np.int32)
    tables = [c.eighths(4, 8), c.eighths(5, 8), c.eighths(2, 8)]
    mask = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    c.add("ms/embed", "EmbedLayerNormalization", [ids, segments, *tables, gamma, beta, mask], 3, near=near,
          open={0: {0: "batch", 1: "steps"}, 1: {0: "batch", 1: "steps"}, 7: {0: "batch", 1: "steps"}})
    c.add("ms/embed_positions", "EmbedLayerNormalization", [ids, None, *tables[:2], None, gamma, beta, None, ids], 2,
          near=near)


def attention(c):
    batch, steps, heads, width = 2, 3, 2, 8
    x, w, b = c.eighths(batch, steps, 5), c.eighths(5, 3 * width), c.eighths(3 * width)
    near = (1e-4, 1e-4)  # ONNX Runtime adds the filter of -10000 to the scores before it rounds
    steps_open = {0: {0: "batch", 1: "steps"}}

    def one(name, *more, outputs=1, inputs=(x, w, b), open=None, **attributes):
        c.add(f"ms/attention_{name}", "Attention", [*inputs, *more], outputs, near=near, num_heads=heads, open=open,
              **attributes)

    one("plain", open=steps_open)
    one("without_bias", inputs=(x, w))
    one("scale", scale=.25)
    one("mask", np.array([[1, 1, 0], [1, 0, 0]], np.int32), open={**steps_open, 3: {0: "batch", 1: "steps"}})
    one("hidden", np.array([[0, 0, 0], [1, 1, 0]], np.int32))
    one("lengths", np.array([2, 1], np.int32), open={**steps_open, 3: {0: "batch"}})
    one("ends_and_begins", np.array([3, 3, 1, 0], np.int32))
    one("mask_of_queries", c.integers(0, 2, (batch, steps, steps), np.int32))
    one("causal", unidirectional=1, open=steps_open)
    one("past", None, c.eighths(2, batch, heads, 2, 4), outputs=2, open={**steps_open, 4: {1: "batch", 3: "past"}})
    one("past_causal", None, c.eighths(2, batch, heads, 2, 4), outputs=2, unidirectional=1,
        open={**steps_open, 4: {1: "batch", 3: "past"}})
    one("bias", None, None, c.eighths(1, heads, steps, steps))
    c.add("ms/attention_sizes", "Attention", [x, c.eighths(5, 20), c.eighths(20)], near=near, num_heads=heads,
          qkv_hidden_sizes=[8, 8, 4])


def multi_head(c):
    batch, steps, heads, width = 2, 3, 2, 8
    q, k, v, b = c.eighths(batch, steps, width), c.eighths(batch, 4, width), c.eighths(batch, 4, width), c.eighths(3 * width)
    near = (1e-4, 1e-4)
    opened = {0: {0: "batch", 1: "queries"}, 1: {0: "batch", 1: "keys"}, 2: {0: "batch", 1: "keys"}}

    def one(name, *more, outputs=1, inputs=(q, k, v), open=None, **attributes):
        c.add(f"ms/heads_{name}", "MultiHeadAttention", [*inputs, *more], outputs, near=near, num_heads=heads, open=open,
              **attributes)

    one("plain", outputs=3, open=opened)
    one("bias", b, outputs=3, open=opened)
    one("scale", scale=.25)
    one("mask", None, np.array([[1, 1, 0, 1], [1, 0, 0, 0]], np.int32), open={**opened, 4: {0: "batch", 1: "keys"}})
    one("lengths", None, np.array([2, 3], np.int32))
    one("mask_of_queries", None, c.integers(0, 2, (batch, steps, 4), np.int32))
    one("added", None, None, c.eighths(1, 1, steps, 4))
    own = (q, k[:, :3], v[:, :3])
    past = [c.eighths(batch, heads, 2, 4), c.eighths(batch, heads, 2, 4)]
    with_past = {**opened, 1: opened[0], 2: opened[0], 6: {0: "batch", 2: "past"}, 7: {0: "batch", 2: "past"}}
    one("causal", inputs=own, unidirectional=1)
    one("past", None, None, None, *past, inputs=own, outputs=3, open=with_past)
    one("past_causal", None, None, None, *past, inputs=own, outputs=3, unidirectional=1, open=with_past)
    apart = [t.reshape(batch, 4, heads, 4).transpose(0, 2, 1, 3) for t in (k, v)]
    one("apart", inputs=(q, *apart))


def rotary(c):
    x, tables = c.eighths(2, 3, 16), [c.eighths(7, 4), c.eighths(7, 4)]
    opened = {0: {0: "batch", 1: "steps"}}
    for interleaved in (0, 1):
        c.add(f"ms/rotary_{interleaved}", "RotaryEmbedding", [x, np.array([2]), *tables], interleaved=interleaved,
              open=opened)
        c.add(f"ms/rotary_positions_{interleaved}", "RotaryEmbedding",
              [x, np.array([[0, 1, 2], [6, 4, 5]]), *tables], interleaved=interleaved,
              open={**opened, 1: {0: "batch", 1: "steps"}})
    c.add("ms/rotary_apart", "RotaryEmbedding", [c.eighths(2, 2, 3, 8), np.array([1]), *tables])
    c.add("ms/rotary_partly", "RotaryEmbedding", [x, np.array([1]), *tables], num_heads=1, rotary_embedding_dim=8)


def grouped(c):
    heads, shared, size = 4, 2, 16
    tables = [c.eighths(16, 8), c.eighths(16, 8)]
    near = (1e-5, 1e-5)

    def one(name, steps, past, lengths, total, rotary=True, packed=False, batch=2, open=None, bias=None, **attributes):
        q, k, v = c.eighths(batch, steps, heads * size), c.eighths(batch, steps, shared * size), c.eighths(batch, steps, shared * size)
        inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        inputs += [None, None] if past is None else [c.eighths(batch, shared, past, size) for _ in range(2)]
        inputs += [np.array(lengths, np.int32), np.array(total, np.int32)]
        if rotary:
            inputs += tables
            attributes["do_rotary"] = 1
        if bias is not None:
            inputs += [None] * (10 - len(inputs)) + [bias]
        c.add(f"ms/grouped_{name}", "GroupQueryAttention", inputs, 3, near=near, num_heads=heads, kv_num_heads=shared,
              known=(6,), open=open, **attributes)

    queries = {i: {0: "batch", 1: "steps"} for i in range(3)}
    buffers = {i: {0: "batch"} for i in (3, 4, 5)}
    one("prompt", 3, None, [2, 2], 3, rotary=False, open={**queries, 5: {0: "batch"}})
    one("prompt_rotary", 3, None, [2, 2], 3)
    one("prompt_interleaved", 3, None, [2, 2], 3, rotary_interleaved=1)
    one("prompt_packed", 3, None, [2, 2], 3, packed=True)
    one("prompt_padded", 3, None, [2, 1], 3)
    one("prompt_into_buffer", 3, 8, [2, 1], 3)
    one("step", 1, 4, [4, 4], 5, open={**{i: {0: "batch"} for i in range(3)}, **buffers})
    one("step_shorter", 1, 4, [4, 2], 5)
    one("step_into_buffer", 1, 8, [4, 2], 5)
    one("chunk", 2, 4, [5], 6, batch=1)
    one("chunk_window", 2, 4, [5], 6, batch=1, local_window_size=2)
    one("window", 3, None, [2, 2], 3, rotary=False, local_window_size=2)
    one("softcap", 3, None, [2, 2], 3, rotary=False, softcap=.5, scale=.25)
    one("bias", 3, None, [2, 2], 3, rotary=False, bias=c.eighths(1, 1, 3, 3))


def experts(c):
    x, router = c.eighths(3, 4), c.eighths(3, 4)
    w1, b1, w2, b2 = c.eighths(4, 6, 4), c.eighths(4, 6), c.eighths(4, 4, 6), c.eighths(4, 4)
    rows = {0: {0: "rows"}, 1: {0: "rows"}}
    c.add("ms/experts", "MoE", [x, router, w1, None, w2], open=rows)
    c.add("ms/experts_two", "MoE", [x, router, w1, b1, w2, b2], k=2)
    c.add("ms/experts_normalised", "MoE", [x, router, w1, b1, w2, b2], k=2, normalize_routing_weights=1,
          activation_type="silu")
    c.add("ms/experts_gelu", "MoE", [x[None], router, w1, b1, w2, b2], k=3, activation_type="gelu")


def recurrent(c):
    def one(name, directions, batch, dtype, by_column, more=(), open=None, **attributes):
        steps, width, hidden = 4, 5, 3
        low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
        scale_shape = (directions, 4 * hidden) if by_column else (directions,)
        scales = [(c.integers(2, 9, scale_shape) / 1024).astype(F) for _ in range(2)]
        points = [c.integers(100, 150, scale_shape, dtype) if dtype == np.uint8 else np.zeros(scale_shape, dtype)
                  for _ in range(2)]
        weights = [c.integers(low, high, (directions, rows, 4 * hidden), dtype) for rows in (width, hidden)]
        bias = c.eighths(directions, 8 * hidden) / 8
        rest = [*more, None, None, None, None][:4]
        c.add(f"ms/lstm_{name}", "DynamicQuantizeLSTM",
              [c.eighths(steps, batch, width), *weights, bias, *rest, scales[0], points[0], scales[1], points[1]], 3,
              known=(1, 2, 8, 9, 10, 11), near=(1e-5, 1e-5), hidden_size=hidden, open=open, **attributes)

    one("forward", 1, 1, np.uint8, False, open={0: {0: "steps"}})
    one("columns", 1, 1, np.int8, True)
    one("batch", 1, 3, np.int8, False, open={0: {1: "batch"}})
    one("reverse", 1, 1, np.uint8, False, direction="reverse")
    one("both", 2, 2, np.uint8, False, direction="bidirectional", open={0: {0: "steps", 1: "batch"}})
    one("state", 1, 2, np.int8, True, more=(None, c.eighths(1, 2, 3), c.eighths(1, 2, 3)))
    one("peepholes", 1, 2, np.int8, False, more=(None, None, None, c.eighths(1, 9)), clip=.5)


def blocks(c):
    # ONNX Runtime ignores packed zero points where there is a g_idx, and multiplies by the transposed weight where transB
    # is 0: contributed_test.cc has these.
    weight, scales, group = c.integers(0, 256, (3, 3, 8), np.uint8), c.eighths(3, 3), c.integers(0, 3, 40, np.int32)
    more = dict(N=3, K=40, block_size=16, near=(1e-4, 1e-5))
    c.add("ms/matmul_4_bits_groups", "MatMulNBits", [c.eighths(2, 40), weight, scales, None, group], known=(1, 2, 4),
          open={0: {0: "m"}}, **more)
    c.add("ms/matmul_4_bits_groups_float_points", "MatMulNBits", [c.eighths(2, 40), weight, scales,
          c.integers(0, 16, (3, 3)).astype(F), np.concatenate([group, np.zeros(8, np.int32)])], known=(1, 2, 3, 4), **more)
    for kind, name in enumerate(("fp4", "nf4")):
        for columns, depth in ((3, 32), (3, 33)):
            count = columns * depth
            c.add(f"ms/bnb_{name}_{depth}", "MatMulBnb4", [c.eighths(2, depth), c.integers(0, 256, -(-count // 2), np.uint8),
                  c.eighths(-(-count // 16))], known=(1, 2), open={0: {0: "m"}}, N=columns, K=depth, block_size=16,
                  quant_type=kind, near=(1e-5, 1e-5))
    places = np.array([[0, 4], [-1, 2]])
    for bits in (2, 4, 8):
        table, scales = c.integers(0, 256, (5, 48 * bits // 8), np.uint8), c.eighths(5, 3)
        more = dict(bits=bits, block_size=16, quantize_axis=1)
        c.add(f"ms/gather_{bits}_bits", "GatherBlockQuantized", [table, places, scales], known=(0, 2),
              open={1: {0: "rows"}}, **more)
        c.add(f"ms/gather_{bits}_bits_points", "GatherBlockQuantized",
              [table, places, scales, c.integers(0, 256, (5, -(-3 * bits // 8)), np.uint8)], known=(0, 2, 3), **more)
    for dtype, low, high in ((ml_dtypes.uint4, 0, 16), (ml_dtypes.int4, -8, 8)):
        table, points = [c.integers(low, high, shape).astype(dtype) for shape in ((3, 33, 4), (3, 3, 4))]
        for axis in range(3):
            c.add(f"ms/gather_{np.dtype(dtype)}_axis_{axis}", "GatherBlockQuantized",
                  [table, np.array([1, 0, 2, 50, -2], np.int32), c.eighths(3, 3, 4), points], known=(0, 2, 3), block_size=16,
                  quantize_axis=1, gather_axis=axis)
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn):
        table, scales = c.eighths(4, 32).astype(dtype), c.eighths(4, 2)
        c.add(f"ms/gather_{np.dtype(dtype)}", "GatherBlockQuantized", [table, np.array([2, 0]), scales], known=(0, 2),
              block_size=16, quantize_axis=1)
        c.add(f"ms/gather_{np.dtype(dtype)}_shared", "GatherBlockQuantized", [table, np.array([2, 0]), scales[:1, :1]],
              known=(0, 2), block_size=0, quantize_axis=1)


def add(cases):
    for family in (products, few_bits, activations, movement, convolutions, normalisation, attention, multi_head, rotary,
                   grouped, experts, recurrent, blocks):
        family(cases)
