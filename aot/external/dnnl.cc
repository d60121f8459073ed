// Code for oneDNN: each composite of a function becomes a step, made once in each thread.
//
//   extern "C" int32_t external_dnnl_0(const float* x0, const float* x1, float* y) {
//     thread_local relay_dnnl::Step step0(relay_dnnl::Product{{2, {1, 8}}, ...});
//     return step0.run(x0, x1, nullptr, y);
//   }
//
// Of a convolution oneDNN chooses how data and weights lie in memory. A run brings them there
// first: the C function may keep nothing of its inputs.
#include "aot/external/dnnl.h"

#include <utility>

#include "analysis/dnnl_steps.h"
#include "aot/embedded.h"
#include "base/cat.h"
#include "ir/traverse.h"

namespace relay::aot {
namespace {

using analysis::DnnlStep;
using Numbers = std::vector<int64_t>;

std::string list(const Numbers& numbers) { return cat("{", join(numbers, ", "), "}"); }
std::string extents(const Numbers& e) { return cat("{", e.size(), ", ", list(e), "}"); }
std::string_view truth(bool b) { return b ? "true" : "false"; }

Numbers shape_of(Type type) { return *type->as<TensorType>()->static_shape(); }

// `relay_dnnl::Convolution{...}`.
std::string convolution(const DnnlStep& step) {
  const analysis::ConvolutionView& c = *step.convolution;
  Numbers weight = shape_of(c.weights);
  if (const int64_t groups = c.convolution.groups; groups > 1) {
    weight.front() /= groups;
    weight.insert(weight.begin(), groups);
  }
  Numbers dilation = c.convolution.window.dilation;
  for (int64_t& d : dilation) --d;
  return cat("relay_dnnl::Convolution{", extents(shape_of(c.data)), ", ", extents(weight), ", ",
             extents(shape_of(c.result)), ", ", list(c.convolution.window.stride), ", ", list(dilation), ", ",
             list(c.convolution.window.before), ", ", list(c.convolution.window.after), ", ",
             truth(step.bias), ", ", truth(step.relu), "}");
}

// A matrix, or one in each place of a batch, as rows and columns of the product: its extents and
// how far their elements are apart.
struct Matrix {
  Numbers extents, strides;

  Matrix(const TensorType& type, bool transposed) : extents(*type.static_shape()), strides(extents.size()) {
    int64_t stride = 1;
    for (size_t i = extents.size(); i-- > 0; stride *= extents[i]) strides[i] = stride;
    if (!transposed) return;
    std::swap(extents.back(), extents[extents.size() - 2]);
    std::swap(strides.back(), strides[strides.size() - 2]);
  }
};

// `relay_dnnl::Product{...}`.
std::string product(const DnnlStep& step) {
  const analysis::ProductView& p = *step.product;
  const Matrix left(*p.left, p.left_transposed), right(*p.right, p.right_transposed);
  return cat("relay_dnnl::Product{", extents(left.extents), ", ", extents(right.extents), ", ",
             extents(shape_of(p.result)), ", ", list(left.strides), ", ", list(right.strides), ", ",
             truth(step.bias), ", ", truth(step.relu), "}");
}

// Prints one function.
class Writer {
 public:
  Writer(Context& context, const Fn& fn) : context_(context), fn_(fn) {
    for (size_t i = 0; i < fn.params.size(); ++i) pointers_[fn.params[i]] = cat("x", i);
  }

  Generated write(std::string_view symbol) {
    for (Expr e : post_order(fn_.body)) {
      // The bodies of composites are looked at where these are called.
      if (const auto* call = e->as<Call>(); call && call->callee->as<Fn>()) add(*call);
      if (!refused_.empty()) return {{}, refused_};
    }
    if (steps_ == 0 || pointers_.get(fn_.body).empty()) return {{}, "gives something else than a composite"};
    std::vector<std::string> parameters;
    for (size_t i = 0; i < fn_.params.size(); ++i) parameters.push_back(cat("const float* x", i));
    parameters.push_back("float* y");
    return {cat("extern \"C\" int32_t ", symbol, "(", join(parameters, ", "), ") {\n", declared_, run_,
                "  return 0;\n}\n")};
  }

 private:
  void add(const Call& call) {
    const Fn& composite = *call.callee->as<Fn>();
    std::string why;
    const std::optional<DnnlStep> step = analysis::dnnl_step(context_, composite.body, why);
    if (!step) {
      refused_ = cat("has a composite that ", why);
      return;
    }
    // What the step reads are the composite's parameters, and so the arguments of the call.
    const std::string data = pointer(call, step->anchor().args[0]),
                      weight = pointer(call, step->anchor().args[1]),
                      bias = step->bias ? pointer(call, step->bias) : "nullptr";
    if (!refused_.empty()) return;
    const std::string name = cat("step", steps_);
    declared_ += cat("  thread_local relay_dnnl::Step ", name, "(\n      ",
                     step->product ? product(*step) : convolution(*step), ");\n");
    const std::string result = &call == fn_.body ? "y" : buffer(call);
    run_ += cat("  if (const int32_t status = ", name, ".run(", data, ", ", weight, ", ", bias, ", ", result,
                "); status != 0) return status;\n");
    pointers_[&call] = result;
    ++steps_;
  }

  // Memory for what a step gives to a later one.
  std::string buffer(const Call& call) {
    const std::string name = cat("between", steps_);
    const int64_t elements = element_count(shape_of(call.type)).value();
    declared_ += cat("  thread_local relay_dnnl::Buffer ", name, "(", elements, ");\n  if (!", name,
                     ".get()) return dnnl_out_of_memory;\n");
    return name + ".get()";
  }

  std::string pointer(const Call& call, Expr read) {
    const Fn& composite = *call.callee->as<Fn>();
    for (size_t i = 0; i < composite.params.size(); ++i) {
      if (composite.params[i] != read) continue;
      if (const std::string& at = pointers_.get(call.args[i]); !at.empty()) return at;
    }
    refused_ =
        "has a composite that reads something else than its parameters, or is given something "
        "else than parameters and results of composites";
    return {};
  }

  Context& context_;
  const Fn& fn_;
  NodeMap<std::string> pointers_;  // of parameters and of what steps gave
  std::string declared_, run_, refused_;
  size_t steps_ = 0;
};

Generated generate(Context& context, const Fn& fn, std::string_view symbol) {
  return Writer(context, fn).write(symbol);
}

}  // namespace

const CodeGenerator kDnnlGenerator = {
    .name = "dnnl",
    .doc = "products and convolutions of float32, by oneDNN 2",
    .prelude = kDnnlSource,
    .link_flags = {"-ldnnl"},
    .needs = "libdnnl.so.2, from Debian's libdnnl2",
    .generate = generate,
};

}  // namespace relay::aot
