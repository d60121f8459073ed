// compact: everything that is live, copied to a new context.
#include "ir/import.h"
#include "ir/module.h"
#include "ir/traverse.h"

namespace relay {
namespace {

class Compactor {
 public:
  explicit Compactor(const Module& from) : from_(from), to_(out_.context()), import_(to_) {}

  Module run() {
    to_.sources() = from_.context().sources();
    for (const auto& [name, def] : from_.data_types()) out_.set_data_type(data_type(*def));
    for (const auto& [name, k] : from_.kernels()) out_.set_kernel(name.text(), import_.kernels().kernel(*k));
    std::vector<Expr> roots;
    for (const auto& [name, fn] : from_.functions()) roots.push_back(fn);
    for (Expr e : post_order(roots)) now_[e] = copy(e);
    for (const auto& [name, fn] : from_.functions()) out_.set_function(name.text(), now_[fn]->as<Fn>());
    return out_;
  }

 private:
  const TypeVar* type_var(const TypeVar* v) { return to_.type_var(v->name.text()); }
  List<const TypeVar*> type_vars(const List<const TypeVar*>& list) {
    std::vector<const TypeVar*> out;
    for (const TypeVar* v : list) out.push_back(type_var(v));
    return to_.arena().list(out);
  }
  List<Type> types(const List<Type>& list) {
    std::vector<Type> out;
    for (Type t : list) out.push_back(import_.type(t));
    return to_.arena().list(out);
  }

  const DataTypeDef* data_type(const DataTypeDef& def) {
    DataTypeDef now = def;
    bring_fields(now);
    return to_.arena().make<DataTypeDef>(now);
  }

  // Also those that a replaced data type left behind in some expression.
  const Constructor* constructor(const Constructor* c) {
    const Constructor*& now = ctors_[c];
    if (!now) {
      Constructor copy = *c;
      bring_fields(copy);
      now = to_.arena().make<Constructor>(copy);
    }
    return now;
  }

  const Var* var(const Var* v) {
    Expr& now = now_[v];
    if (!now) now = copy_fields(*v);
    return now->as<Var>();
  }

  Pattern pattern(Pattern root) {
    struct Step {
      Pattern p;
      bool closing;
    };
    std::vector<Step> stack{{root, false}};
    std::vector<Pattern> done;
    while (!stack.empty()) {
      const auto [p, closing] = stack.back();
      stack.pop_back();
      const auto& fields = p->fields;
      if (!closing && !fields.empty()) {
        stack.push_back({p, true});
        for (size_t i = fields.size(); i-- > 0;) stack.push_back({fields[i], false});
        continue;
      }
      const std::span<const Pattern> copied(done.data() + done.size() - fields.size(), fields.size());
      PatternNode copy = *p;
      for_each_field(copy, Overload{
                               [](const PatternKind&) {},
                               [](const Span&) {},
                               [&](const Var*& field) {
                                 if (field) field = var(field);
                               },
                               [&](const Constructor*& field) {
                                 if (field) field = constructor(field);
                               },
                               [&](List<Pattern>& field) { field = to_.arena().list(copied); },
                           });
      done.resize(done.size() - fields.size());
      done.push_back(to_.arena().make<PatternNode>(copy));
    }
    return done.back();
  }

  Expr copy(Expr e) {
    if (const auto* v = e->as<Var>()) return var(v);
    return match(e, [&](const auto& n) { return copy_fields(n); });
  }

  template <class T>
  Expr copy_fields(const T& n) {
    T now = n;
    now.type = import_.type(n.type);
    bring_fields(now);
    return to_.node(now);
  }

  template <class T>
  void bring_fields(T& copy) {
    for_each_field(copy, [&](auto& field) { this->bring(field); });
  }

  void bring(Expr& field) { field = now_[field]; }
  void bring(const Var*& field) { field = var(field); }
  void bring(Type& field) { field = import_.type(field); }
  void bring(Symbol& field) { field = import_.symbol(field); }
  void bring(Attrs& field) { field = import_.attrs(field); }
  void bring(const Tensor*& field) { field = to_.keep(*field); }  // the elements stay where they are
  void bring(const Constructor*& field) { field = constructor(field); }
  void bring(const op::OpDef*&) {}
  void bring(uint32_t&) {}
  void bring(bool&) {}
  void bring(List<const TypeVar*>& field) { field = type_vars(field); }
  void bring(List<Type>& field) { field = types(field); }
  void bring(List<Expr>& field) {
    std::vector<Expr> out;
    for (Expr e : field) out.push_back(now_[e]);
    field = to_.arena().list(out);
  }
  void bring(List<const Var*>& field) {
    std::vector<const Var*> out;
    for (const Var* v : field) out.push_back(var(v));
    field = to_.arena().list(out);
  }
  void bring(List<Arm>& field) {
    std::vector<Arm> out(field.begin(), field.end());
    for (Arm& arm : out) bring_fields(arm);
    field = to_.arena().list(out);
  }
  void bring(Pattern& field) { field = pattern(field); }
  void bring(List<const Constructor*>& field) {
    std::vector<const Constructor*> out;
    for (const Constructor* c : field) out.push_back(constructor(c));
    field = to_.arena().list(out);
  }
  void bring(Span&) {}

  const Module& from_;
  Module out_;
  Context& to_;
  Importer import_;
  NodeMap<Expr> now_;
  std::unordered_map<const Constructor*, const Constructor*> ctors_;
};

}  // namespace

Module compact(const Module& m) { return Compactor(m).run(); }

}  // namespace relay
