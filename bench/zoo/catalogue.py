"""Every network by name."""

from collections.abc import Callable
from dataclasses import dataclass

from .bert import bert_base_s128, bert_tiny_dyn
from .charrnn import charrnn_loop
from .dcgan import dcgan
from .densenet import densenet121
from .dqn import dqn
from .efficientnet import efficientnet_b0
from .gpt2 import gpt2_decode_p128, gpt2_prefill_128
from .graph import Graph
from .lenet import lenet
from .mlp import mlp
from .mobilenet import mobilenet_g, mobilenet_v1, mobilenet_v2
from .operators import (
    convolution,
    op_attention_12x512,
    op_elemwise_chain_1m,
    op_matmul_1024,
    op_matvec_4096,
    op_reduce_transpose,
    op_softmax_12x128x128,
)
from .recurrent import recurrent
from .resnet import resnet18, resnet34, resnet50, resnext50
from .squeezenet import squeezenet1_1
from .vgg import vgg16


@dataclass(frozen=True)
class Network:
    """One model of the zoo.

    `published` is its number of parameters as common libraries state it, or for networks that they do not hold (DQN,
    DCGAN, LeNet, MobileNet-G) as it follows by hand from the published layers.
    """

    name: str
    build: Callable[[Graph], None]
    published: int | None = None

    def graph(self) -> Graph:
        """Builds it; cheap, no weight is made."""
        g = Graph(self.name)
        self.build(g)
        return g


NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        Network("resnet18", resnet18, 11_689_512),
        Network("resnet34", resnet34, 21_797_672),
        Network("resnet50", resnet50, 25_557_032),
        Network("resnext50", resnext50, 25_028_904),
        Network("mobilenet_v1", mobilenet_v1, 4_231_976),
        Network("mobilenet_v2", mobilenet_v2, 3_504_872),
        Network("mobilenet_g", mobilenet_g, 4_901_576),
        Network("vgg16", vgg16, 138_357_544),
        Network("squeezenet1_1", squeezenet1_1, 1_235_496),
        Network("densenet121", densenet121, 7_978_856),
        Network("efficientnet_b0", efficientnet_b0, 5_288_548),
        Network("dqn", dqn, 1_693_362),
        Network("dcgan", dcgan, 12_658_432),
        Network("lenet", lenet, 61_706),
        Network("mlp", mlp),
        Network("bert_base_s128", bert_base_s128, 109_482_240),
        Network("bert_tiny_dyn", bert_tiny_dyn),
        Network("gpt2_decode_p128", gpt2_decode_p128, 124_439_808),
        Network("gpt2_prefill_128", gpt2_prefill_128, 124_439_808),
        Network("lstm_h512", recurrent("LSTM", 512)),
        Network("lstm_h1024", recurrent("LSTM", 1024)),
        Network("gru_h512", recurrent("GRU", 512)),
        Network("gru_h1024", recurrent("GRU", 1024)),
        Network("rnn_h512", recurrent("RNN", 512)),
        Network("rnn_h1024", recurrent("RNN", 1024)),
        Network("charrnn_loop", charrnn_loop),
        Network("op_matmul_1024", op_matmul_1024),
        Network("op_matvec_4096", op_matvec_4096),
        Network("op_conv3x3_c64_56", convolution(64, 64, 56, 3)),
        Network("op_conv1x1_c256_28", convolution(256, 512, 28, 1)),
        Network("op_conv3x3_c512_7", convolution(512, 512, 7, 3)),
        Network("op_dwconv3x3_c512_14", convolution(512, 512, 14, 3, groups=512)),
        Network("op_softmax_12x128x128", op_softmax_12x128x128),
        Network("op_attention_12x512", op_attention_12x512),
        Network("op_elemwise_chain_1m", op_elemwise_chain_1m),
        Network("op_reduce_transpose", op_reduce_transpose),
    )
}
