// partition-dnnl: products and convolutions that oneDNN computes become functions of their own,
// with the bias and the `nn.relu` that follow them.
//
//   nn.relu(nn.dense(%x, %w) + %b)   becomes   @dnnl_0(%x, %w, %b)
//
// The code generator `dnnl` of `aot-cpp` and `graph` makes calls of oneDNN of such functions
// (docs/devices.md). Other engines run their bodies, so that the program means what it did.
// Which steps go there is said in analysis/dnnl_steps.h: float32, constant shapes, NCHW.
//
// Steps that feed each other are one function, if each but the last is used there alone and nothing
// else is evaluated between them that can be noticed. With `merge=0` each step has its own.
//
// Before: `inline-lets` and `simplify-inference` go before, as a pattern sees neither through lets
// nor through a normalisation. `fuse` goes after: what is in a kernel stays there.
// After: no step that oneDNN takes stands outside of a function with `Compiler="dnnl"`, but where
// a part of it is used elsewhere or is evaluated in another scope.
#include "analysis/dnnl_steps.h"
#include "analysis/fused.h"
#include "passes/external_regions.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

constexpr ExternalPattern kPatterns[] = {
    {"dnnl.conv2d_bias_relu", "%0 = nn.conv2d(_, _); nn.relu(nn.bias_add(%0, _) | add(%0, _))"},
    {"dnnl.conv2d_relu", "nn.relu(nn.conv2d(_, _))"},
    {"dnnl.conv2d_bias", "%0 = nn.conv2d(_, _); nn.bias_add(%0, _) | add(%0, _)"},
    {"dnnl.conv2d", "nn.conv2d(_, _)"},
    {"dnnl.dense_bias_relu",
     "%0 = nn.dense(_, _) | nn.matmul(_, _); nn.relu(nn.bias_add(%0, _) | add(%0, _))"},
    {"dnnl.dense_relu", "nn.relu(nn.dense(_, _) | nn.matmul(_, _))"},
    {"dnnl.dense_bias", "%0 = nn.dense(_, _) | nn.matmul(_, _); nn.bias_add(%0, _) | add(%0, _)"},
    {"dnnl.dense", "nn.dense(_, _) | nn.matmul(_, _)"},
    {"dnnl.batch_matmul_relu", "nn.relu(nn.batch_matmul(_, _))"},
    {"dnnl.batch_matmul", "nn.batch_matmul(_, _)"},
};

bool takes(Context& context, const pattern::Match& m) {
  std::string why;
  return analysis::dnnl_step(context, m.root(), why).has_value();
}

Module run(const Module& m, const PassContext& pass) {
  if (analysis::is_fused(m)) {
    pass.stays("`fuse` has put calls into kernels: `partition-dnnl` goes before it");
    return m;
  }
  return with_external_regions(m, {"dnnl", kPatterns, takes}, pass.value("merge") != 0);
}

}  // namespace

const Pass kPartitionDnnl = {
    .name = "partition-dnnl",
    .doc = "give products and convolutions that oneDNN computes functions of their own",
    .parameters = {{"merge", 1, "0: steps that feed each other have a function each", 0, 1}},
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
