#include "op/absent.h"

#include <algorithm>

namespace relay::op {
namespace {

constexpr std::string_view kEthosU =
    "it is one instruction of an Ethos-U processor, whose operands are that processor's encodings";
constexpr std::string_view kTunedLayout =
    "its attributes are a layout of another compiler's tuner; `layout_transform` names layouts";
constexpr std::string_view kTransformed =
    "its weights are in a private layout of another compiler's kernels; the plain convolution chooses such a "
    "layout itself";

constexpr Absent kAbsent[] = {
    {"auto_scheduler_layout_transform", kTunedLayout},
    {"contrib.ethosu.binary_elementwise", kEthosU},
    {"contrib.ethosu.conv2d", kEthosU},
    {"contrib.ethosu.depthwise_conv2d", kEthosU},
    {"contrib.ethosu.identity", kEthosU},
    {"contrib.ethosu.pooling", kEthosU},
    {"contrib.ethosu.unary_elementwise", kEthosU},
    {"meta_schedule_layout_transform", kTunedLayout},
    {"nn.contrib_conv2d_gemm_weight_transform", kTransformed},
    {"nn.contrib_conv2d_gemm_without_weight_transform", kTransformed},
    {"nn.contrib_conv2d_winograd_nnpack_weight_transform", kTransformed},
    {"nn.contrib_conv3d_winograd_weight_transform", kTransformed},
    {"nn.contrib_conv3d_winograd_without_weight_transform", kTransformed},
    {"parser.MetaRef", "another parser puts it in the place of `meta[...]` and takes it away again"},
    {"torch_op", "it calls Python code of PyTorch, which is serialised in its attributes"},
    {"vm.invoke_tvm_op",
     "it calls a kernel of another compiler's virtual machine, which is no part of the text; the program "
     "before "
     "that compiler lowered it has the operators themselves"},
};

}  // namespace

std::span<const Absent> absent_operators() { return kAbsent; }

std::string_view why_absent(std::string_view name) {
  const auto* at = std::lower_bound(std::begin(kAbsent), std::end(kAbsent), name,
                                    [](const Absent& a, std::string_view wanted) { return a.name < wanted; });
  return at != std::end(kAbsent) && at->name == name ? at->reason : std::string_view();
}

}  // namespace relay::op
