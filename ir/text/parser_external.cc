// External kernels: declarations of C functions.
#include "base/cat.h"
#include "ir/text/kernel_reader.h"
#include "kernel/execute.h"
#include "kernel/external.h"

namespace relay::text {

using kernel::Buffer;
using kernel::Expr;

// ... symbol "c_name"(n, 2 * n);
bool KernelReader::external() {
  kernel::Kernel k{};
  if (!signature(k)) return false;
  if (!p_.take_word("symbol")) return p_.expected("`symbol` and the name of the C function, as a string");
  if (p_.peek().kind != TokenKind::kString) return p_.expected("the name of the C function, as a string");
  const Token symbol = p_.next();
  in_shapes_ = false;
  k.body = make<kernel::Nop>();
  kernel::External e{};
  e.symbol = context().symbol(symbol.name());
  std::vector<Expr> extents = kernel::default_extents(k);
  if (p_.take("(")) {
    extents.clear();
    const bool read = p_.list(")", [&] {
      extents.push_back(index());
      return static_cast<bool>(extents.back());
    });
    if (!read) return false;
  }
  if (!p_.need(";", "after the declaration of an external kernel")) return false;
  e.extents = arena_.list(extents);
  k.external = arena_.make<kernel::External>(e);
  if (!is_good(k, symbol.span)) return false;
  define(k);
  return true;
}

bool KernelReader::is_good(const kernel::Kernel& k, Span symbol) {
  const kernel::External& e = *k.external;
  if (const std::string wrong = kernel::wrong_symbol(e.symbol.text()); !wrong.empty())
    return fail(symbol, "bad-symbol", cat("`", e.symbol.text(), "` cannot name the C function: it ", wrong));
  const size_t count = k.inputs.size() + k.outputs.size() + e.extents.size();
  if (count > kernel::kMostExternalParameters) {
    p_.error(at_, "kernel-too-large",
             cat("the C function would take ", count, " arguments, and may take ",
                 kernel::kMostExternalParameters))
        .note("they are a pointer for each input and each output, and the extents");
    return false;
  }
  if (p_.options_.validate_kernels) check(k);
  if (const std::string open = undetermined(k); !open.empty()) {
    p_.error(at_, "undetermined-extent", cat("`", open, "` does not follow from the shapes of the inputs"))
        .note(
            "the shapes of outputs, and what the C function is told, are made of shape variables, each of "
            "which some "
            "input has as an extent");
    return false;
  }
  const auto [first, fresh] = p_.externals_.emplace(e.symbol, &k);
  if (fresh) {
    first->second = arena_.make<kernel::Kernel>(k);
  } else if (!kernel::same_signature(*first->second, k)) {
    p_.error(symbol, "conflicting-symbols",
             cat("`", e.symbol.text(), "` is the C function of kernel `@", first->second->name.text(),
                 "` too, with another signature"))
        .note("a C function has one: as many tensors of the same dtypes, and as many extents");
    return false;
  }
  return true;
}

// An extent of an output or an argument that no call could work out; empty if there is none.
std::string KernelReader::undetermined(const kernel::Kernel& k) const {
  std::vector<Expr> given, asked(k.external->extents.begin(), k.external->extents.end());
  for (const Buffer* b : k.inputs) given.insert(given.end(), b->shape.begin(), b->shape.end());
  for (const Buffer* b : k.outputs) asked.insert(asked.end(), b->shape.begin(), b->shape.end());
  const auto known = kernel::determined_by(given);
  for (Expr e : asked) {
    bool open = e->has_load;
    for (Expr v : kernel::variables(e)) open = open || !known.contains(v.get());
    if (open) return kernel::show(e);
  }
  return {};
}

}  // namespace relay::text
