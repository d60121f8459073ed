// Types, dims and attributes as text. Types and lists of attributes are written with
// explicit stacks.
#include "ir/text/print_type.h"

#include <vector>

#include "base/cat.h"
#include "base/failure.h"
#include "ir/attr_text.h"
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/printer.h"

namespace relay::text {
namespace {

using kernel::ExprKind;
using kernel::ExprNode;

enum Level { kSum = 1, kProduct = 2, kOperand = 3 };

struct Shown {
  std::string text;
  Level level;
};

// Dims are kept shallow by the parser and by the simplifier, so that this may recurse.
class DimText {
 public:
  explicit DimText(DimPlace place) : place_(place) {}

  Shown shown(const ExprNode* n) const {
    switch (n->kind) {
      case ExprKind::kInt: return {cat(n->int_value), n->int_value < 0 ? kProduct : kOperand};
      case ExprKind::kVar: return {quoted_word(n->name.text()), kOperand};
      case ExprKind::kAdd: return sum(n);
      case ExprKind::kMul: return product(n);
      case ExprKind::kFloorDiv: return place_ == DimPlace::kType ? division(n, "//") : call("floor_div", n);
      case ExprKind::kFloorMod: return division(n, "%");
      case ExprKind::kMin: return call("min", n);
      case ExprKind::kMax: return call("max", n);
      case ExprKind::kBroadcast: return call("broadcast", n);
      default: return {show(kernel::Expr(n)), kSum};  // not a form that dims take
    }
  }

 private:
  std::string at_least(const ExprNode* n, Level level) const {
    Shown s = shown(n);
    return s.level < level ? "(" + s.text + ")" : s.text;
  }

  Shown sum(const ExprNode* n) const {
    std::string out;
    for (size_t i = 0; i < n->args.size(); ++i) {
      const std::string part = at_least(n->args[i], kProduct);
      if (i == 0) {
        out = part;
      } else if (part[0] == '-') {
        out += " - " + part.substr(1);
      } else {
        out += " + " + part;
      }
    }
    return {out, kSum};
  }

  // The coefficient is kept last in the node and written first, as people do.
  Shown product(const ExprNode* n) const {
    std::string out;
    const bool scaled = n->args.back()->kind == ExprKind::kInt;
    if (scaled) out = n->args.back()->int_value == -1 ? "-" : cat(n->args.back()->int_value, "*");
    for (size_t i = 0; i + (scaled ? 1 : 0) < n->args.size(); ++i) {
      if (i > 0) out += "*";
      out += at_least(n->args[i], kOperand);
    }
    return {out, kProduct};
  }

  Shown division(const ExprNode* n, std::string_view op) const {
    return {cat(at_least(n->args[0], kProduct), " ", op, " ", at_least(n->args[1], kOperand)), kProduct};
  }

  Shown call(std::string_view name, const ExprNode* n) const {
    return {cat(name, "(", shown(n->args[0]).text, ", ", shown(n->args[1]).text, ")"), kOperand};
  }

  DimPlace place_;
};

class TypeText {
 public:
  explicit TypeText(const std::function<bool(Symbol)>& type_var) : type_var_(type_var) {}

  // Throws Exhausted for a longer text: types share parts, and a text writes each of them out.
  std::string of(Type t) {
    later(t);
    while (!pending_.empty()) {
      if (out_.size() > kMostBytes)
        throw Exhausted(
            cat("the text of a type has more than ", kMostBytes, " bytes, parts that it shares each time"));
      const Item item = pending_.back();
      pending_.pop_back();
      if (item.is_type) {
        write(item.type);
      } else {
        out_ += item.text;
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 24;

  struct Item {
    bool is_type;
    Type type;
    std::string text;
  };
  void later(std::string text) { pending_.push_back({false, nullptr, std::move(text)}); }
  void attrs_later(const Attrs& attrs) { later(", " + print_attrs(attrs)); }
  void later(Type t) { pending_.push_back({true, t, {}}); }
  void all_later(const List<Type>& types) {
    for (size_t i = types.size(); i-- > 0;) {
      later(types[i]);
      if (i > 0) later(", ");
    }
  }

  void write(Type t) {
    if (!t) {
      out_ += "_";
      return;
    }
    switch (t->kind) {
      case TypeKind::kTensor: {
        const auto& tensor = *t->as<TensorType>();
        if (tensor.dims.empty()) {
          out_ += tensor.dtype.name();
          return;
        }
        const auto show_dim = [](Dim d) { return print_dim(d, DimPlace::kType); };
        out_ += cat("Tensor[(", join(tensor.dims, ", ", show_dim), "), ", tensor.dtype.name(), "]");
        return;
      }
      case TypeKind::kTuple: {
        const auto& fields = t->as<TupleType>()->fields;
        out_ += "(";
        later(fields.size() == 1 ? ",)" : ")");
        all_later(fields);
        return;
      }
      case TypeKind::kFn: {
        const auto* fn = t->as<FnType>();
        out_ += "fn";
        if (!fn->type_params.empty()) {
          out_ += cat(
              "[", join(fn->type_params, ", ", [](const TypeVar* v) { return quoted_word(v->name.text()); }));
        }
        later(fn->result);
        later(") -> ");
        all_later(fn->args);
        later(fn->type_params.empty() ? "(" : "](");
        all_later(fn->where);
        if (!fn->where.empty()) later(" where ");
        return;
      }
      case TypeKind::kRelation: {
        const auto* relation = t->as<RelationType>();
        out_ += cat(quoted_dotted_name(relation->name.text()), "(");
        later(")");
        if (!relation->attrs.empty()) attrs_later(relation->attrs);
        all_later(relation->parts);
        return;
      }
      case TypeKind::kRef:
        out_ += "ref(";
        later(")");
        later(t->as<RefType>()->contents);
        return;
      case TypeKind::kVar: out_ += quoted_word(t->as<TypeVar>()->name.text()); return;
      case TypeKind::kData: {
        const auto* data = t->as<DataType>();
        out_ += quoted_word(data->name.text());
        if (data->args.empty() && !(type_var_ && type_var_(data->name))) return;
        out_ += "[";
        later("]");
        all_later(data->args);
        return;
      }
      case TypeKind::kHole: out_ += "_"; return;
    }
  }

  const std::function<bool(Symbol)>& type_var_;
  std::vector<Item> pending_;
  std::string out_;
};

std::string head(const AttrValue& v) {
  switch (v.kind) {
    case AttrKind::kNone: return "None";
    case AttrKind::kBool: return v.boolean ? "True" : "False";
    case AttrKind::kInt: return cat(v.integer);
    case AttrKind::kFloat: return show_double(v.real);
    case AttrKind::kString: return quoted_string(v.string.text());
    case AttrKind::kDim: return print_dim(v.dim, DimPlace::kAttribute);
    case AttrKind::kList: return "[";
  }
  return {};
}

}  // namespace

std::string print_dim(Dim d, DimPlace place) {
  if (d.is_unknown()) return "?";
  if (d.is_const()) return cat(d.value());
  return DimText(place).shown(d.symbolic().get()).text;
}

std::string print_type(Type t, const std::function<bool(Symbol name)>& type_var) {
  return TypeText(type_var).of(t);
}

std::string print_attr(const AttrValue& v) { return attr_text(v, head); }

std::string print_attrs(const Attrs& attrs) {
  return join(attrs, ", ",
              [](const Attr& a) { return cat(quoted_dotted_name(a.name.text()), "=", print_attr(a.value)); });
}

}  // namespace relay::text

namespace relay {

std::string print(Type t) { return text::print_type(t, nullptr); }
std::string print(const AttrValue& v) { return text::print_attr(v); }

}  // namespace relay
