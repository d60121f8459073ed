"""The networks of examples/train_* in PyTorch, with its optimisers: eagerly, or by torch.compile."""

import numpy
import torch
from torch.nn import functional

Parameters = list[torch.nn.Parameter]


def mlp(p: Parameters, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    hidden = torch.relu(functional.linear(images, p[0], p[1]))
    penalty = 1e-4 * ((p[0] ** 2).sum() + (p[2] ** 2).sum())
    return functional.cross_entropy(functional.linear(hidden, p[2], p[3]), labels.long()) + penalty


def cnn(p: Parameters, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    x = images.reshape(-1, 1, 8, 8)
    for kernel, bias in (p[0:2], p[2:4]):
        x = functional.max_pool2d(torch.relu(functional.conv2d(x, kernel, bias, padding=1)), 2)
    return functional.cross_entropy(functional.linear(x.flatten(1), p[4], p[5]), labels.long())


def gated(gates: tuple[torch.Tensor, ...], below: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
    """The state and the memory, from the gates of what is new (two) and of the result."""
    memory = below + torch.sigmoid(gates[0]) * torch.tanh(gates[1])
    return torch.sigmoid(gates[2]) * torch.tanh(memory), memory


def lstm(p: Parameters, texts: torch.Tensor) -> torch.Tensor:
    h = c = torch.zeros(texts.shape[1], 128)
    total = torch.zeros(())
    for now, following in zip(texts.long(), texts.long()[1:]):
        gates = (functional.linear(p[0][now], p[1]) + functional.linear(h, p[2]) + p[3]).chunk(4, 1)
        h, c = gated(gates[1:], torch.sigmoid(gates[0]) * c)
        total = total + functional.cross_entropy(functional.linear(h, p[4], p[5]), following)
    return total / (len(texts) - 1)


def tree_lstm(p: Parameters, symbols: torch.Tensor, left: torch.Tensor, right: torch.Tensor, roots: torch.Tensor,
              labels: torch.Tensor) -> torch.Tensor:
    states: list[tuple[torch.Tensor, torch.Tensor]] = []
    for symbol, a, b in zip(symbols.tolist(), left.tolist(), right.tolist()):
        gates, below = p[0][symbol][None], 0.0
        if a >= 0:
            gates = gates + functional.linear(states[a][0], p[1]) + functional.linear(states[b][0], p[2])
        parts = gates.chunk(5, 1)
        if a >= 0:
            below = torch.sigmoid(parts[3]) * states[a][1] + torch.sigmoid(parts[4]) * states[b][1]
        states.append(gated(parts, below))
    scores = [functional.linear(states[root][0], p[3], p[4]) for root in roots.tolist()]
    return functional.cross_entropy(torch.cat(scores), labels[:, 0].long())


LOSSES = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "tree_lstm": tree_lstm}
CLIP = {"mlp": 5.0, "lstm": 1.0}


def optimiser(network: str, p: Parameters) -> torch.optim.Optimizer:
    if network == "mlp":
        return torch.optim.SGD(p, lr=1, momentum=0.9)
    decayed = {"params": p[0::2], "weight_decay": 0.01 if network == "cnn" else 0.0}
    return torch.optim.AdamW([decayed, {"params": p[1::2], "weight_decay": 0.0}], lr=1, eps=1e-8)


class Peer:
    """A training of one network. Compiled, its loss with the way back and its optimiser are what torch.compile makes."""

    def __init__(self, network: str, arrays: list[numpy.ndarray], compiled: bool) -> None:
        self.network = network
        self.parameters = [torch.nn.Parameter(torch.from_numpy(array.copy())) for array in arrays]
        self.by = optimiser(network, self.parameters)
        self.loss_of, self.update = LOSSES[network], self.by.step
        if compiled:
            # A rate that is a number of Python would be compiled into the step, which then is made again for each.
            for group in self.by.param_groups:
                group["lr"] = torch.tensor(1.0)
            self.loss_of, self.update = torch.compile(self.loss_of), torch.compile(self.by.step)

    def step(self, rate: float, batch: list[torch.Tensor]) -> float:
        for group in self.by.param_groups:
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.by.zero_grad()
        loss = self.loss_of(self.parameters, *batch)
        loss.backward()
        if self.network in CLIP:
            norm = torch.sqrt(sum((x.grad ** 2).sum() for x in self.parameters))
            for x in self.parameters:
                x.grad.mul_(torch.clamp(CLIP[self.network] / norm, max=1.0))
        self.update()
        return loss.item()
