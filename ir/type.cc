// What types say about themselves: static shapes and their text.
#include "ir/type.h"

#include "base/cat.h"

namespace relay {
namespace {

// Writes a type without recursion: the stack holds what is still to be written, next item last.
class TypeText {
 public:
  explicit TypeText(size_t most) : most_(most) {}

  std::string of(Type t) {
    pending_.push_back({t, {}});
    while (!pending_.empty()) {
      if (out_.size() > most_) return out_ + "...";
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
  struct Item {
    Item(Type type, std::string_view) : type(type), is_type(true) {}
    explicit Item(std::string_view text) : text(text) {}
    Type type = nullptr;
    std::string_view text;
    bool is_type = false;
  };

  void later(std::string_view text) { pending_.push_back(Item(text)); }
  void later(Type t) { pending_.push_back({t, {}}); }
  template <class Types>
  void all_later(const Types& types) {
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
      case TypeKind::kTensor: write_tensor(*t->as<TensorType>()); break;
      case TypeKind::kTuple: {
        const auto& fields = t->as<TupleType>()->fields;
        out_ += "(";
        later(fields.size() == 1 ? ",)" : ")");
        all_later(fields);
        break;
      }
      case TypeKind::kFn: {
        const auto* fn = t->as<FnType>();
        out_ += "fn";
        if (!fn->type_params.empty()) {
          out_ += cat("[", join(fn->type_params, ", ", [](const TypeVar* v) { return v->name.text(); }));
        }
        later(fn->result);
        later(") -> ");
        all_later(fn->args);
        later(fn->type_params.empty() ? "(" : "](");
        all_later(fn->where);
        if (!fn->where.empty()) later(" where ");
        break;
      }
      case TypeKind::kRelation: {
        const auto* relation = t->as<RelationType>();
        out_ += cat(relation->name.text(), "(");
        later(")");
        all_later(relation->parts);
        break;
      }
      case TypeKind::kRef:
        out_ += "ref(";
        later(")");
        later(t->as<RefType>()->contents);
        break;
      case TypeKind::kVar: out_ += t->as<TypeVar>()->name.text(); break;
      case TypeKind::kData: {
        const auto* data = t->as<DataType>();
        out_ += data->name.text();
        if (!data->args.empty()) {
          out_ += "[";
          later("]");
          all_later(data->args);
        }
        break;
      }
      case TypeKind::kHole: out_ += "_"; break;
    }
  }

  void write_tensor(const TensorType& t) {
    if (t.dims.empty()) {
      out_ += t.dtype.name();
      return;
    }
    out_ += "Tensor[(";
    for (size_t i = 0; i < t.dims.size() && out_.size() <= most_; ++i) {
      if (i > 0) out_ += ", ";
      out_ += show(t.dims[i]);
    }
    out_ += cat("), ", t.dtype.name(), "]");
  }

  std::vector<Item> pending_;
  std::string out_;
  size_t most_;
};

}  // namespace

bool TensorType::is_static() const {
  for (Dim d : dims) {
    if (!d.is_const()) return false;
  }
  return true;
}

std::optional<Shape> TensorType::static_shape() const {
  Shape shape;
  for (Dim d : dims) {
    if (!d.is_const()) return std::nullopt;
    shape.push_back(d.value());
  }
  return shape;
}

bool is_countable(const TensorType& t) {
  return !t.is_static() || !(product(t.dims) * Dim(static_cast<int64_t>(t.dtype.bytes()))).is_too_large();
}

std::string show(Type t) { return show(t, SIZE_MAX - 1); }
std::string show(Type t, size_t most) { return TypeText(most).of(t); }

}  // namespace relay
