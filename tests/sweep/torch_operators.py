"""What operators of Relay are in PyTorch: a function of (torch, arguments, attributes, shapes of the results) each.

It returns None for attributes that PyTorch has no word for.
"""

REFERENCES = {}


def reference(*names):
    def add(f):
        for name in names:
            REFERENCES[name] = f
        return f

    return add


def one(name, f):
    REFERENCES[name] = lambda torch, a, attrs, shapes: f(torch, *a)


# --- element by element ---------------------------------------------------------------------------

for _name in ("abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor log log10 log1p log2 negative round rsqrt "
              "sigmoid sign sin sinh sqrt tan tanh trunc").split():
    one(_name, lambda torch, x, n=_name: getattr(torch, n)(x))
one("copy", lambda torch, x: x.clone())
one("nn.relu", lambda torch, x: torch.relu(x))
for _name, _theirs in {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "power": "pow",
                       "maximum": "maximum", "minimum": "minimum", "mod": "fmod", "trunc_mod": "fmod",
                       "floor_mod": "remainder"}.items():
    one(_name, lambda torch, x, y, n=_theirs: getattr(torch, n)(x, y))
one("floor_divide", lambda torch, x, y: torch.div(x, y, rounding_mode="floor"))
one("trunc_divide", lambda torch, x, y: torch.div(x, y, rounding_mode="trunc"))
one("where", lambda torch, c, x, y: torch.where(c.bool(), x, y))
one("zeros_like", lambda torch, x: torch.zeros_like(x))
one("ones_like", lambda torch, x: torch.ones_like(x))
REFERENCES["clip"] = lambda torch, a, t, s: torch.clamp(a[0], t["a_min"], t["a_max"])
REFERENCES["cast"] = lambda torch, a, t, s: a[0].clone() if t["dtype"] == "float64" and a[0].is_floating_point() else None
REFERENCES["nn.leaky_relu"] = lambda torch, a, t, s: torch.nn.functional.leaky_relu(a[0], t.get("alpha", 0.25))
REFERENCES["nn.hard_shrink"] = lambda torch, a, t, s: torch.nn.functional.hardshrink(a[0], t.get("lambd", 0.5))
REFERENCES["cast_like"] = lambda torch, a, t, s: a[0].clone() if all(x.is_floating_point() for x in a) else None
REFERENCES["full_like"] = lambda torch, a, t, s: a[1].expand(s[0])
REFERENCES["full"] = lambda torch, a, t, s: a[0].expand(s[0])
REFERENCES["dyn.full"] = lambda torch, a, t, s: a[0].expand(s[0])


# --- reductions -----------------------------------------------------------------------------------


def axes(x, attrs, key="axis"):
    axis = attrs.get(key)
    if axis is None or axis == []:
        chosen = list(range(x.dim())) if axis is None else []
    else:
        chosen = [a % x.dim() for a in (axis if isinstance(axis, list) else [axis])]
    if attrs.get("exclude"):
        chosen = [d for d in range(x.dim()) if d not in chosen]
    return chosen


def reduction(name, f):
    def run(torch, a, attrs, shapes):
        chosen = axes(a[0], attrs)
        if attrs.get("axis") == [] or not chosen:
            return None
        return f(torch, a[0], chosen, bool(attrs.get("keepdims")))

    REFERENCES[name] = run


reduction("sum", lambda torch, x, d, k: x.sum(d, keepdim=k))
reduction("mean", lambda torch, x, d, k: x.mean(d, keepdim=k))
reduction("max", lambda torch, x, d, k: x.amax(d, keepdim=k))
reduction("min", lambda torch, x, d, k: x.amin(d, keepdim=k))


@reference("prod")
def prod(torch, a, attrs, shapes):
    x, keep = a[0], bool(attrs.get("keepdims"))
    for d in sorted(axes(x, attrs), reverse=True):
        x = x.prod(d, keepdim=keep)
    return x


@reference("variance")
def variance(torch, a, attrs, shapes):
    chosen = axes(a[0], attrs)
    if attrs.get("axis") == [] or len(a) < 2:
        return None
    # About the given mean, which takes part in the gradient.
    n = 1
    for d in chosen:
        n *= a[0].shape[d]
    return ((a[0] - a[1]) ** 2).sum(chosen, keepdim=bool(attrs.get("keepdims"))) / (n - bool(attrs.get("unbiased")))


@reference("cumsum")
def cumsum(torch, a, attrs, shapes):
    x = a[0]
    if attrs.get("axis") is None:
        x = x.flatten()
    d = attrs.get("axis") or 0
    out = x.cumsum(d)
    return out - x if attrs.get("exclusive") else out


REFERENCES["einsum"] = lambda torch, a, t, s: torch.einsum(t["equation"], *a[0])


# --- movement -------------------------------------------------------------------------------------

for _name in ("reshape reshape_like contrib_reverse_reshape expand_dims squeeze nn.batch_flatten dyn.reshape dyn.squeeze "
              "dyn.expand_dims").split():
    REFERENCES[_name] = lambda torch, a, t, s: a[0].reshape(s[0])
for _name in "broadcast_to broadcast_to_like dyn.broadcast_to".split():
    REFERENCES[_name] = lambda torch, a, t, s: a[0].expand(s[0])
for _name in "collapse_sum_to collapse_sum_like".split():
    REFERENCES[_name] = lambda torch, a, t, s: a[0].sum_to_size(s[0])
REFERENCES["transpose"] = lambda torch, a, t, s: a[0].permute(t.get("axes") or list(range(a[0].dim()))[::-1])
REFERENCES["reverse"] = lambda torch, a, t, s: a[0].flip(t.get("axis", 0))
REFERENCES["tile"] = lambda torch, a, t, s: a[0].tile(t["reps"] if isinstance(t["reps"], list) else [t["reps"]])
REFERENCES["dyn.tile"] = lambda torch, a, t, s: a[0].tile(a[1].tolist())
REFERENCES["concatenate"] = lambda torch, a, t, s: torch.cat(a[0], t.get("axis", 0))
REFERENCES["stack"] = lambda torch, a, t, s: torch.stack(a[0], t.get("axis", 0))
REFERENCES["meshgrid"] = lambda torch, a, t, s: torch.meshgrid(*a[0], indexing=t.get("indexing", "ij"))
REFERENCES["gather"] = lambda torch, a, t, s: torch.gather(a[0], t["axis"], a[1]) if shaped_alike(a) else None
REFERENCES["slice_like"] = lambda torch, a, t, s: a[0][tuple(slice(0, d) for d in s[0])]
REFERENCES["trilu"] = lambda torch, a, t, s: (torch.triu if t.get("upper", True) else torch.tril)(a[0], int(a[1]))
REFERENCES["adv_index"] = lambda torch, a, t, s: a[0][0][tuple(a[0][1:])]
REFERENCES["layout_transform"] = (
    lambda torch, a, t, s: a[0].permute([t["src_layout"].index(c) for c in t["dst_layout"]])
    if t["src_layout"].isupper() and t["dst_layout"].isupper()
    else None
)
REFERENCES["sliding_window"] = lambda torch, a, t, s: slide(a[0], t)


def shaped_alike(a):
    return a[0].dim() == a[1].dim() and all(y <= x for x, y in zip(a[0].shape, a[1].shape)) and bool((a[1] >= 0).all())


def slide(x, attrs):
    axis = attrs.get("axis", 0) % x.dim()
    for i, (window, stride) in enumerate(zip(attrs["window_shape"], attrs["strides"])):
        x = x.unfold(axis + i, window, stride)
    return x


@reference("repeat")
def repeat(torch, a, attrs, shapes):
    axis = attrs.get("axis")
    return torch.repeat_interleave(a[0], attrs["repeats"], dim=axis) if a[0].dim() else None


@reference("split")
def split(torch, a, attrs, shapes):
    axis = attrs.get("axis", 0)
    return torch.split(a[0], [s[axis] for s in shapes], axis)


@reference("take")
def take(torch, a, attrs, shapes):
    x, places = a
    axis = attrs.get("axis")
    if attrs.get("batch_dims") or attrs.get("mode", "clip") not in ("clip", "fast"):
        return None
    if axis is None:
        x, axis = x.flatten(), 0
    axis %= x.dim()
    if x.shape[axis] == 0:
        return None
    places = places.clamp(0, x.shape[axis] - 1)
    out = x.index_select(axis, places.flatten())
    return out.reshape((*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))


@reference("gather_nd")
def gather_nd(torch, a, attrs, shapes):
    return a[0][tuple(a[1])] if not attrs.get("batch_dims") and a[1].shape[0] else None


@reference("sort")
def sort(torch, a, attrs, shapes):
    return torch.sort(a[0], dim=attrs.get("axis", -1), descending=not attrs.get("is_ascend", True), stable=True)[0]


@reference("topk")
def topk(torch, a, attrs, shapes):
    if attrs.get("ret_type", "both") != "values":
        return None
    axis = attrs.get("axis", -1)
    k = attrs.get("k", 1)
    k = k if isinstance(k, int) and k > 0 else a[0].shape[axis]
    return torch.topk(a[0], k, axis, largest=not attrs.get("is_ascend", False))[0]


@reference("strided_slice")
def strided_slice(torch, a, attrs, shapes):
    x = a[0]
    begin, end = attrs["begin"], attrs["end"]
    strides = attrs.get("strides") or [1]
    begin, end, strides = ([v] if isinstance(v, int) else v for v in (begin, end, strides))
    which = attrs.get("axes") or list(range(len(begin)))
    strides = strides * len(begin) if len(strides) == 1 else strides
    if attrs.get("slice_mode", "end") != "end" or any(s < 1 for s in strides):
        return None
    at = [slice(None)] * x.dim()
    for d, b, e, s in zip(which, begin, end, strides):
        at[d] = slice(b, e, s)
    return x[tuple(at)]


@reference("scatter_elements")
def scatter_elements(torch, a, attrs, shapes):
    mode = attrs.get("reduction", "update")
    if mode not in ("update", "add") or not shaped_alike(a[:2]):
        return None
    f = torch.scatter_add if mode == "add" else torch.scatter
    return f(a[0], attrs.get("axis", 0), a[1], a[2])


# --- networks -------------------------------------------------------------------------------------

REFERENCES["nn.dense"] = lambda torch, a, t, s: a[0] @ a[1].T
REFERENCES["nn.softmax"] = lambda torch, a, t, s: torch.softmax(a[0], t.get("axis", -1))
REFERENCES["nn.log_softmax"] = lambda torch, a, t, s: torch.log_softmax(a[0], t.get("axis", -1))
REFERENCES["nn.bias_add"] = lambda torch, a, t, s: a[0] + along(a[0], a[1], t.get("axis", 1))
REFERENCES["nn.prelu"] = lambda torch, a, t, s: torch.where(a[0] > 0, a[0], a[0] * along(a[0], a[1], t.get("axis", 1)))
REFERENCES["nn.cross_entropy_with_logits"] = lambda torch, a, t, s: -(a[0] * a[1]).sum() / a[0].shape[0]
REFERENCES["nn.cross_entropy"] = lambda torch, a, t, s: -(a[0].log() * a[1]).sum() / a[0].shape[0]
REFERENCES["nn.global_avg_pool2d"] = lambda torch, a, t, s: a[0].mean((2, 3), True) if plain(t) else None
REFERENCES["nn.global_max_pool2d"] = lambda torch, a, t, s: a[0].amax((2, 3), True) if plain(t) else None


def along(x, v, axis):
    shape = [1] * x.dim()
    shape[axis] = -1
    return v.reshape(shape)


def plain(attrs):
    """The layouts that PyTorch knows."""
    return (
        attrs.get("data_layout", attrs.get("layout", "NCHW")) in ("NCHW", "NCW", "NCDHW")
        and attrs.get("kernel_layout", "OIHW") in ("OIHW", "OIW", "OIDHW", "IOHW", "IOW", "IODHW")
        and attrs.get("out_layout", "") in ("", "NCHW", "NCW", "NCDHW")
        and attrs.get("out_dtype") in (None, "", "float64")
    )


@reference("nn.matmul", "nn.batch_matmul")
def matmul(torch, a, attrs, shapes):
    x, y = a
    x = x.mT if attrs.get("transpose_a", attrs.get("tensor_a_transpose")) else x
    transposed = attrs.get("transpose_b", attrs.get("tensor_b_transpose"))
    return x @ (y.mT if transposed else y) if x.dim() == y.dim() else None


def sizes(value, count, default):
    value = default if value is None else value
    value = [value] if isinstance(value, int) else list(value)
    return value * count if len(value) == 1 else value


def padding(attrs, count):
    """Before and behind each axis."""
    p = sizes(attrs.get("padding"), count, 0)
    return (p[:count], p[count:]) if len(p) == 2 * count else (p, p)


def padded(torch, x, attrs, count, value=0.0):
    before, behind = padding(attrs, count)
    flat = [v for pair in zip(reversed(before), reversed(behind)) for v in pair]
    return torch.nn.functional.pad(x, flat, value=value)


def convolution(count):
    def run(torch, a, attrs, shapes):
        if not plain(attrs) or 0 in a[1].shape:
            return None
        f = getattr(torch.nn.functional, f"conv{count}d")
        return f(padded(torch, a[0], attrs, count), a[1], stride=sizes(attrs.get("strides"), count, 1),
                 dilation=sizes(attrs.get("dilation"), count, 1), groups=attrs.get("groups", 1))

    return run


def transposed(count):
    def run(torch, a, attrs, shapes):
        before, behind = padding(attrs, count)
        if not plain(attrs) or before != behind or not attrs.get("kernel_layout", "IO").startswith("IO"):
            return None
        f = getattr(torch.nn.functional, f"conv_transpose{count}d")
        return f(a[0], a[1], stride=sizes(attrs.get("strides"), count, 1), padding=before,
                 output_padding=sizes(attrs.get("output_padding"), count, 0),
                 dilation=sizes(attrs.get("dilation"), count, 1), groups=attrs.get("groups", 1))

    return run


def pool(kind, count):
    def run(torch, a, attrs, shapes):
        dilation = sizes(attrs.get("dilation"), count, 1)
        no_padding = not any(sum(padding(attrs, count), []))
        whole = kind == "max" or no_padding or attrs.get("count_include_pad")
        if not plain(attrs) or attrs.get("ceil_mode") or not whole or (kind == "avg" and any(d != 1 for d in dilation)):
            return None
        x = padded(torch, a[0], attrs, count, float("-inf") if kind == "max" else 0.0)
        more = {"dilation": dilation} if kind == "max" else {}
        f = getattr(torch.nn.functional, f"{kind}_pool{count}d")
        return f(x, sizes(attrs.get("pool_size"), count, 1), sizes(attrs.get("strides"), count, 1), **more)

    return run


def adaptive(kind, count):
    def run(torch, a, attrs, shapes):
        if not plain(attrs):
            return None
        f = getattr(torch.nn.functional, f"adaptive_{kind}_pool{count}d")
        return f(a[0], shapes[0][2:])

    return run


for _count in (1, 2, 3):
    REFERENCES[f"nn.conv{_count}d"] = convolution(_count)
    REFERENCES[f"nn.conv{_count}d_transpose"] = transposed(_count)
    for _kind in ("max", "avg"):
        REFERENCES[f"nn.{_kind}_pool{_count}d"] = pool(_kind, _count)
        REFERENCES[f"nn.adaptive_{_kind}_pool{_count}d"] = adaptive(_kind, _count)


@reference("nn.pad")
def pad(torch, a, attrs, shapes):
    if attrs.get("pad_mode", "constant") != "constant" or len(a) < 2:
        return None
    width = attrs["pad_width"]
    width = [width[i : i + 2] for i in range(0, len(width), 2)] if width and isinstance(width[0], int) else width
    if len(width) != a[0].dim() or any(w < 0 for pair in width for w in pair):
        return None
    x = a[0]
    for d, (before, behind) in enumerate(width):
        parts = [a[1].expand(*x.shape[:d], n, *x.shape[d + 1 :]) for n in (before, behind)]
        x = torch.cat([parts[0], x, parts[1]], d)
    return x


def normalised(x, gamma, beta, attrs, over, axis):
    mean, variance = x.mean(over, True), x.var(over, unbiased=False, keepdim=True)
    y = (x - mean) / (variance + attrs.get("epsilon", 1e-5)).sqrt()
    y = y * along(x, gamma, axis) if attrs.get("scale", True) else y
    return y + along(x, beta, axis) if attrs.get("center", True) else y


@reference("nn.layer_norm")
def layer_norm(torch, a, attrs, shapes):
    axis = attrs.get("axis", -1) % a[0].dim()
    return normalised(*a, attrs, [axis], axis)


@reference("nn.instance_norm")
def instance_norm(torch, a, attrs, shapes):
    axis = attrs.get("axis", 1) % a[0].dim()
    return normalised(*a, attrs, [d for d in range(1, a[0].dim()) if d != axis], axis)


@reference("nn.group_norm")
def group_norm(torch, a, attrs, shapes):
    if attrs.get("axis", 1) != 1 or attrs.get("center") is False or attrs.get("scale") is False:
        return None
    return torch.nn.functional.group_norm(a[0], attrs["num_groups"], a[1], a[2], attrs.get("epsilon", 1e-5))


@reference("nn.dilate")
def dilate(torch, a, attrs, shapes):
    if attrs.get("dilation_value", 0):
        return None
    out = torch.zeros(shapes[0], dtype=a[0].dtype)
    out[tuple(slice(None, None, s) for s in attrs["strides"])] = a[0]
    return out
