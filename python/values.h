// Values of the language as values of Python, and back.
//
//   a tensor                    an array of NumPy
//   a tuple                     a tuple
//   List[T] of the library      a list
//   Option[T] of the library    None, or the value; Data("Some", ...) around another Option
//   any other data type         relay.Data(constructor, fields)
//
// A list may be long and a tree deep, so nothing here recurses.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "python/signature.h"
#include "python/tensors.h"
#include "runtime/value.h"

namespace relay::python {

// Makes values of an engine out of Python's. Handles are of the engine's own kind.
template <class Handle>
struct Maker {
  std::function<Handle(uint32_t type, Lent tensor)> tensor;
  // Takes the fields. A tuple has the constructor 0.
  std::function<Handle(uint32_t type, uint32_t constructor, std::vector<Handle> fields)> node;
  std::function<void(Handle)> drop;  // a value that is not needed after all
};

// Looks at values of an engine.
template <class Handle>
struct Reader {
  struct Node {
    uint32_t constructor = 0;
    std::vector<Handle> fields = {};
  };
  // Both take the handle.
  std::function<py::object(uint32_t type, Handle tensor)> tensor;
  std::function<Node(uint32_t type, Handle node)> node;
};

// The argument `name` as a value of the type. Raises TypeError or ValueError that names it.
template <class Handle>
Handle make_value(const Signature& signature, uint32_t type, py::handle argument, const std::string& name,
                  const Maker<Handle>& maker);
// The value of the type as Python's.
template <class Handle>
py::object read_value(const Signature& signature, uint32_t type, Handle value, const Reader<Handle>& reader);

// The same for values of the interpreter's machine.
Value value_of(const Signature& signature, uint32_t type, py::handle argument, const std::string& name);
py::object python_value(const Signature& signature, uint32_t type, const Value& value);

// --- implementation ------------------------------------------------------------------------------

// Types that have a form of their own in Python. A list is whatever has the library's constructors.
struct ListType {
  uint32_t nil, cons, element;
};
std::optional<ListType> list_type(const Signature& signature, uint32_t type);
bool is_option(const TypeEntry& entry);

// What a value of Python is for a tuple, or for a data type that is no list.
struct Parts {
  uint32_t constructor = 0;
  std::vector<py::object> fields = {};
};
Parts parts_of(const Signature& signature, uint32_t type, py::handle value, const std::string& name);
// The elements, for a list.
std::vector<py::object> elements_of(const TypeEntry& entry, py::handle value, const std::string& name);
// A tuple or a constructor as Python's value.
py::object joined(const Signature& signature, uint32_t type, uint32_t constructor,
                  std::vector<py::object> fields);
[[noreturn]] void refuse_cycle(const std::string& name);

template <class Handle>
std::vector<Handle> take_last(std::vector<Handle>& from, size_t count) {
  const auto first = from.end() - static_cast<ptrdiff_t>(count);
  std::vector<Handle> out(std::make_move_iterator(first), std::make_move_iterator(from.end()));
  from.erase(first, from.end());
  return out;
}

template <class Handle>
Handle make_value(const Signature& signature, uint32_t type, py::handle argument, const std::string& name,
                  const Maker<Handle>& maker) {
  enum class Does { kLook, kMake, kLeave };
  struct Step {
    Does does;
    uint32_t type;
    py::object value = {};
    uint32_t constructor = 0;
    size_t fields = 0;  // that kMake takes from the end of `made`
  };
  std::vector<Step> pending;
  pending.push_back({Does::kLook, type, py::reinterpret_borrow<py::object>(argument)});
  std::vector<Handle> made;
  // What is being made: a list that contains itself is no value.
  std::set<std::pair<PyObject*, uint32_t>> around;
  try {
    while (!pending.empty()) {
      Step step = std::move(pending.back());
      pending.pop_back();
      const TypeEntry& entry = signature.types[step.type];
      if (step.does == Does::kLeave) {
        around.erase({step.value.ptr(), step.type});
      } else if (step.does == Does::kMake) {
        std::vector<Handle> fields = take_last(made, step.fields);
        made.push_back(maker.node(step.type, step.constructor, std::move(fields)));
      } else if (entry.kind == TypeEntry::Kind::kTensor) {
        made.push_back(maker.tensor(step.type, lend(step.value, entry, name)));
      } else {
        if (!around.insert({step.value.ptr(), step.type}).second) refuse_cycle(name);
        pending.push_back({Does::kLeave, step.type, step.value});
        if (const auto list = list_type(signature, step.type)) {
          std::vector<py::object> elements = elements_of(entry, step.value, name);
          for (size_t i = 0; i < elements.size(); ++i)
            pending.push_back({Does::kMake, step.type, {}, list->cons, 2});
          pending.push_back({Does::kMake, step.type, {}, list->nil, 0});
          for (size_t i = elements.size(); i-- > 0;)
            pending.push_back({Does::kLook, list->element, std::move(elements[i])});
          continue;
        }
        Parts parts = parts_of(signature, step.type, step.value, name);
        const std::vector<uint32_t>& types = entry.constructors[parts.constructor].fields;
        pending.push_back({Does::kMake, step.type, {}, parts.constructor, types.size()});
        for (size_t i = types.size(); i-- > 0;)
          pending.push_back({Does::kLook, types[i], std::move(parts.fields[i])});
      }
    }
  } catch (...) {
    for (Handle& handle : made) maker.drop(std::move(handle));
    throw;
  }
  return std::move(made.back());
}

template <class Handle>
py::object read_value(const Signature& signature, uint32_t type, Handle value, const Reader<Handle>& reader) {
  enum class Does { kLook, kJoin, kJoinList };
  struct Step {
    Does does;
    uint32_t type;
    Handle value = {};
    uint32_t constructor = 0;
    size_t fields = 0;  // that are taken from the end of `made`
  };
  std::vector<Step> pending;
  pending.push_back({Does::kLook, type, std::move(value)});
  std::vector<py::object> made;
  while (!pending.empty()) {
    Step step = std::move(pending.back());
    pending.pop_back();
    const TypeEntry& entry = signature.types[step.type];
    if (step.does == Does::kJoin) {
      made.push_back(joined(signature, step.type, step.constructor, take_last(made, step.fields)));
    } else if (step.does == Does::kJoinList) {
      std::vector<py::object> elements = take_last(made, step.fields);
      py::list list(elements.size());
      for (size_t i = 0; i < elements.size(); ++i) list[i] = std::move(elements[i]);
      made.push_back(std::move(list));
    } else if (entry.kind == TypeEntry::Kind::kTensor) {
      made.push_back(reader.tensor(step.type, std::move(step.value)));
    } else if (const auto list = list_type(signature, step.type)) {
      std::vector<Handle> elements;
      auto node = reader.node(step.type, std::move(step.value));
      while (node.constructor == list->cons) {
        elements.push_back(std::move(node.fields[0]));
        node = reader.node(step.type, std::move(node.fields[1]));
      }
      pending.push_back({Does::kJoinList, step.type, {}, 0, elements.size()});
      for (size_t i = elements.size(); i-- > 0;)
        pending.push_back({Does::kLook, list->element, std::move(elements[i])});
    } else {
      auto node = reader.node(step.type, std::move(step.value));
      const std::vector<uint32_t>& types = entry.constructors[node.constructor].fields;
      pending.push_back({Does::kJoin, step.type, {}, node.constructor, types.size()});
      for (size_t i = types.size(); i-- > 0;)
        pending.push_back({Does::kLook, types[i], std::move(node.fields[i])});
    }
  }
  return std::move(made.back());
}

}  // namespace relay::python
