#include "aot/external/external_code.h"

#include <map>
#include <optional>
#include <span>

#include "analysis/external_functions.h"
#include "aot/external/generator.h"
#include "base/cat.h"
#include "base/nearest.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "kernel/external.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

// Names of operators in the order in which they run, for people: "nn.conv2d + add + nn.relu".
std::string describe(const Fn& fn) {
  std::vector<std::string> names;
  for (Expr e : post_order(fn.body)) {
    if (const op::OpDef* def = op::callee(e)) names.push_back(def->name);
  }
  constexpr size_t kMost = 12;
  if (names.size() > kMost) {
    names.resize(kMost);
    names.push_back("..");
  }
  return join(names, " + ");
}

// A dense buffer of the type; nothing if that is no tensor of a constant shape.
std::optional<const kernel::Buffer*> buffer_of(Context& context, uint32_t id, std::string_view name,
                                               Type type) {
  const auto* t = type ? type->as<TensorType>() : nullptr;
  if (!t || !t->is_static()) return std::nullopt;
  std::vector<kernel::Expr> shape;
  for (Dim d : t->dims) shape.push_back(d.expr(context.pool()));
  kernel::Buffer b{};
  b.id = id;
  b.name = context.symbol(name);
  b.dtype = t->dtype;
  b.shape = context.arena().list<kernel::Expr>(shape);
  return context.arena().make<kernel::Buffer>(b);
}

// The kernel in the function's place; nothing if it takes or gives something else than tensors of
// constant shapes, or too many.
std::optional<kernel::Kernel> kernel_of(Context& context, const Fn& fn, std::string_view name,
                                        const std::string& symbol) {
  if (fn.params.size() + 1 > kernel::kMostExternalParameters) return std::nullopt;
  std::vector<const kernel::Buffer*> inputs;
  for (const Var* x : fn.params) {
    const auto id = static_cast<uint32_t>(inputs.size());
    const auto buffer = buffer_of(context, id, cat("x", id), x->type);
    if (!buffer) return std::nullopt;
    inputs.push_back(*buffer);
  }
  const auto output = buffer_of(context, static_cast<uint32_t>(inputs.size()), "y", fn.body->type);
  if (!output) return std::nullopt;
  kernel::Kernel k{};
  k.name = context.symbol(name);
  k.inputs = context.arena().list<const kernel::Buffer*>(inputs);
  k.outputs = context.arena().list<const kernel::Buffer*>(std::span(&*output, 1));
  k.body = context.arena().make<kernel::Nop>(kernel::Nop{{kernel::StmtKind::kNop}});
  k.origin = context.symbol(describe(fn));
  kernel::External external{};
  external.symbol = context.symbol(symbol);
  k.external = context.arena().make<kernel::External>(external);
  return k;
}

// The body of a composite in the place of its call.
Expr body_of(Builder& b, const Call& call, const Fn& composite) {
  const auto* copy = refresh(b.context(), &composite)->as<Fn>();
  Expr body = copy->body;
  for (size_t i = call.args.size(); i-- > 0;)
    body = b.with_type(b.let(copy->params[i], call.args[i], body), copy->body->type);
  return body;
}

// The text of one generator.
struct Text {
  const CodeGenerator* generator;
  std::string functions;
  size_t count = 0;
};

}  // namespace

Module with_external_code(const Module& m, std::string_view entry, ExternalCode& code, Diagnostics& kept) {
  Module out = m;
  std::map<std::string_view, Text> texts;
  for (const auto& [name, fn] : m.functions()) {
    const AttrValue* compiler = fn->attrs.find(analysis::kCompiler);
    if (!compiler) continue;
    const auto stays = [&](const std::string& why) {
      kept.warning(fn->span, "engine-skips", cat("@", name.text(), " runs by its body: ", why));
    };
    if (name.text() == entry) {
      stays("the program begins with it");
      continue;
    }
    if (compiler->kind != AttrKind::kString) {
      stays("its attribute `Compiler` is no text: write the name of a code generator, as in \"dnnl\"");
      continue;
    }
    const std::string wanted = compiler->string.str();
    const CodeGenerator* generator = find_code_generator(wanted);
    if (!generator) {
      stays(no_such("code generator", wanted,
                    names_of(code_generators(), [](const CodeGenerator* g) { return g->name; })));
      continue;
    }
    Text& text = texts.try_emplace(generator->name, Text{generator, {}}).first->second;
    const std::string symbol = cat("external_", generator->name, "_", text.count);
    const std::optional<kernel::Kernel> k = kernel_of(m.context(), *fn, name.text(), symbol);
    if (!k) {
      stays("it takes or gives something else than tensors of constant shapes");
      continue;
    }
    const Generated made = generator->generate(m.context(), *fn, symbol);
    if (!made.refused.empty()) {
      stays(cat("`", generator->name, "` refuses it: it ", made.refused));
      continue;
    }
    ++text.count;
    text.functions += "\n" + made.text;
    code.symbols.insert(symbol);
    out.set_kernel(name.text(), m.context().arena().make<kernel::Kernel>(*k));
  }
  for (const auto& [name, text] : texts) {
    if (text.count == 0) continue;
    code.files.push_back(
        {cat("external_", name, ".cc"), std::string(text.generator->prelude) + text.functions});
    code.link_flags.insert(code.link_flags.end(), text.generator->link_flags.begin(),
                           text.generator->link_flags.end());
    code.needs.emplace_back(text.generator->needs);
  }
  return out;
}

Module with_bodies(const Module& m) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    if (!fn->attrs.find(analysis::kCompiler)) continue;
    const Expr now = rewrite(m.context(), fn, [](Builder& b, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const auto* composite = call ? call->callee->as<Fn>() : nullptr;
      return composite && composite->attrs.find(analysis::kComposite) ? body_of(b, *call, *composite) : e;
    });
    if (now != fn) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace relay::aot
