// Imports: a library's definitions, of which a module keeps those that its own mention.
#include <unordered_set>

#include "base/cat.h"
#include "ir/text/library.h"
#include "ir/text/parser_impl.h"
#include "ir/traverse.h"

namespace relay::text {
namespace {

// What is mentioned by what is mentioned, beginning with what no library defines.
class Mentioned {
 public:
  explicit Mentioned(const Module& m) : module_(m) {
    const SourceMap& sources = m.context().sources();
    for (const auto& [name, def] : m.data_types()) {
      if (library_of(sources, def->span).empty()) data_type(name);
    }
    for (const auto& [name, fn] : m.functions()) {
      if (library_of(sources, fn->span).empty()) function(name);
    }
    while (!functions_pending_.empty() || !types_pending_.empty()) {
      if (!types_pending_.empty()) {
        const Type t = types_pending_.back();
        types_pending_.pop_back();
        if (const auto* data = t->as<DataType>()) data_type(data->name);
        for_each_part(t, [&](Type part) { type(part); });
        continue;
      }
      const Fn* fn = functions_pending_.back();
      functions_pending_.pop_back();
      for (Expr e : post_order(fn)) expression(e);
    }
  }

  bool has_function(Symbol name) const { return functions_.contains(name); }
  bool has_data_type(Symbol name) const { return data_types_.contains(name); }

 private:
  void function(Symbol name) {
    const Fn* fn = module_.function(name.text());
    if (fn && functions_.insert(name).second) functions_pending_.push_back(fn);
  }

  void data_type(Symbol name) {
    const DataTypeDef* def = module_.data_type(name.text());
    if (!def || !data_types_.insert(name).second) return;
    for (const Constructor* c : def->ctors) {
      for (Type field : c->fields) type(field);
    }
  }

  void type(Type t) {
    if (t && types_.insert(t).second) types_pending_.push_back(t);
  }

  void expression(Expr e) {
    for_each_binder(e, [&](const Var* v) { type(v->annotation); });
    if (const auto* global = e->as<Global>()) function(global->name);
    relay::match(e, [&](const auto& n) { for_each_field(n, [&](const auto& part) { field(part); }); });
  }

  // A field, by its type. Names of functions and binders were looked at.
  template <OneOf<Expr, List<Expr>, const Var*, List<const Var*>, Symbol, List<const TypeVar*>, Attrs,
                  const Tensor*, const op::OpDef*, uint32_t, bool>
                Field>
  void field(const Field&) {}
  void field(Type t) { type(t); }
  void field(const List<Type>& types) {
    for (Type t : types) type(t);
  }
  void field(const Constructor* ctor) { data_type(ctor->data_type); }
  void field(const List<Arm>& arms) {
    for (const Arm& arm : arms) {
      for_each_pattern(arm.pattern, [&](Pattern p) {
        if (p->ctor) field(p->ctor);
      });
    }
  }

  const Module& module_;
  std::unordered_set<Symbol> functions_, data_types_;
  std::unordered_set<Type> types_;
  std::vector<const Fn*> functions_pending_;
  std::vector<Type> types_pending_;
};

}  // namespace

// `import "prelude"`.
bool Parser::take_import() {
  if (!peek().is_word("import") || lexer_.peek_second().kind != TokenKind::kString) return false;
  next();
  const Token name = next();
  if (imports_read_.insert(name.span.begin).second) import_library(name);
  take(";");
  return true;
}

void Parser::import_library(const Token& token) {
  const std::string name = token.name();
  if (!imported_->insert(name).second) return;
  std::optional<std::string> text = library_text(name);
  if (!text) {
    Diagnostic& d = error(token.span, "unknown-library", cat("there is no library `", name, "`"));
    suggest(d, name, "", libraries);
    d.note(cat("there are ", library_names()));
    return;
  }
  SourceMap& sources = module_.context().sources();
  const uint32_t file = sources.add(library_source(name), std::move(*text));
  ParseOptions options;
  options.into = module_;
  Parser library(file, sources.text(file), diagnostics_, operators_, options, imported_);
  if (const Result<Module> m = library.module()) module_ = *m;
}

Parser::Twice Parser::defined_by(Span now, Span before, Slug slug, std::string_view what) {
  const SourceMap& sources = module_.context().sources();
  const std::string_view here = library_of(sources, now), there = library_of(sources, before);
  if (here.empty() == there.empty()) return here.empty() ? Twice::kProgram : Twice::kLibrary;
  error(here.empty() ? now : before, slug,
        cat(what, " is defined by the library `", here.empty() ? there : here, "` too"))
      .label(here.empty() ? before : now, "the other definition");
  return Twice::kClash;
}

void Parser::keep_mentioned() {
  const Mentioned mentioned(module_);
  Module kept = options_.into;
  for (const auto& [name, def] : module_.data_types()) {
    if (mentioned.has_data_type(name)) kept.set_data_type(def);
  }
  for (const auto& [name, kernel] : module_.kernels()) kept.set_kernel(name.text(), kernel);
  for (const auto& [name, fn] : module_.functions()) {
    if (mentioned.has_function(name)) kept.set_function(name.text(), fn);
  }
  module_ = kept;
}

}  // namespace relay::text
