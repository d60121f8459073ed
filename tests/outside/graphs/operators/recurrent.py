"""RNN, GRU and LSTM."""

from ..draw import Draw

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def layer(d: Draw, name: str) -> None:
    def shape():
        return (d.choose((1, 2, 3, 5)), d.choose((1, 2, 3)), d.choose((1, 2, 3, 5)))

    x = d.value(
        ("float32",),
        rank=(3, 3),
        shape=shape,
        least=1,
        low=-8,
        high=8,
        fits=lambda v: v.shape[0] <= 8 and v.array.size < 500,
    )
    steps, batch, width = x.shape
    hidden, gates = d.choose((1, 2, 3, 5, 8)), GATES[name]
    direction = d.choose(("forward", "reverse", "bidirectional", None))
    ways = 2 if direction == "bidirectional" else 1
    weights = [
        d.weight("float32", (ways, gates * hidden, width), -1, 1),
        d.weight("float32", (ways, gates * hidden, hidden), -1, 1),
    ]
    bias = d.weight("float32", (ways, 2 * gates * hidden), -1, 1) if d.chance(0.6) else None
    lengths = d.constant([steps] * batch, "int32") if d.chance(0.15) else None
    state = d.weight("float32", (ways, batch, hidden), -1, 1) if d.chance(0.5) else None
    values = [x, *weights, bias, lengths, state]
    attributes = {"hidden_size": hidden, "direction": direction}
    if name == "LSTM":
        values.append(d.weight("float32", (ways, batch, hidden), -1, 1) if d.chance(0.5) else None)
        values.append(d.weight("float32", (ways, 3 * hidden), -1, 1) if d.chance(0.3) else None)
    if name == "GRU":
        attributes["linear_before_reset"] = d.choose((0, 1, None))
    if d.chance(0.2):
        attributes["activations"] = [d.choose(("Sigmoid", "Tanh", "Relu")) for _ in range(ways * ACTIVATIONS[name])]
    if d.chance(0.1):
        attributes["clip"] = d.choose((0.5, 1.0))
    d.add(name, values, d.integer(1, 3 if name == "LSTM" else 2), **attributes)


ROWS = {
    "GRU": (layer,),
    "LSTM": (layer,),
    "RNN": (layer,),
}
