#!/usr/bin/env python3
"""Trains the network of this folder and writes model.onnx, inputs/images.npy and labels.npy beside this file.

The images are scikit-learn's digits: 1797 of 8 x 8 pixels from 0 to 16. 360 of them are held out, as many of each
digit as it has a share of all; the network sees the other 1437. Needs numpy, onnx, scikit-learn and torch. Another
version of torch may give other weights.
"""

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HELD_OUT = 360
EPOCHS = 60
HERE = Path(__file__).resolve().parent


def network() -> nn.Sequential:
    """Three convolutions and a product: 15,338 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


def train(net: nn.Sequential, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Batches of 32 in a new order each time; the rate falls to zero."""
    steps = EPOCHS * -(-len(images) // 32)
    optimiser = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    loss = nn.CrossEntropyLoss(label_smoothing=0.05)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(32):
            optimiser.zero_grad()
            loss(net(images[batch]), labels[batch]).backward()
            optimiser.step()
            rate.step()


def to_onnx(net: nn.Sequential) -> onnx.ModelProto:
    """The network for all images that were held out: bytes from 0 to 16 in, a score for each digit out."""
    nodes = [helper.make_node("Cast", ["images"], ["floats"], to=TensorProto.FLOAT)]
    nodes.append(helper.make_node("Mul", ["floats", "scale"], ["x0"]))
    weights = [numpy_helper.from_array(np.float32(1 / 16), "scale")]
    for number, layer in enumerate(net):
        inputs, output = [f"x{number}"], f"x{number + 1}"
        for name, value in layer.named_parameters():
            weights.append(numpy_helper.from_array(value.detach().numpy(), f"{number}.{name}"))
            inputs.append(f"{number}.{name}")
        if isinstance(layer, nn.Conv2d):
            node = helper.make_node("Conv", inputs, [output], kernel_shape=[3, 3], pads=[1] * 4)
        elif isinstance(layer, nn.ReLU):
            node = helper.make_node("Relu", inputs, [output])
        elif isinstance(layer, nn.MaxPool2d):
            node = helper.make_node("MaxPool", inputs, [output], kernel_shape=[2, 2], strides=[2, 2])
        elif isinstance(layer, nn.Flatten):
            node = helper.make_node("Flatten", inputs, [output])
        else:
            node = helper.make_node("Gemm", inputs, [output], transB=1)
        nodes.append(node)
    nodes[-1].output[0] = "scores"
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("images", TensorProto.UINT8, [HELD_OUT, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [HELD_OUT, 10])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    """Trains, tests and writes."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = load_digits()
    images = data.images.astype(np.uint8)[:, np.newaxis]
    seen, held_out, seen_labels, labels = train_test_split(
        images, data.target, test_size=HELD_OUT, random_state=0, stratify=data.target
    )
    net = network()
    train(net, torch.from_numpy(seen.astype(np.float32) / 16), torch.from_numpy(seen_labels))
    with torch.no_grad():
        answers = net(torch.from_numpy(held_out.astype(np.float32) / 16)).argmax(1).numpy()
    print(f"{(answers == labels).mean():.2%} of {HELD_OUT} images that were held out")
    onnx.save(to_onnx(net), HERE / "model.onnx")
    (HERE / "inputs").mkdir(exist_ok=True)
    np.save(HERE / "inputs" / "images.npy", held_out)
    np.save(HERE / "labels.npy", labels.astype(np.uint8))


if __name__ == "__main__":
    main()
