#include "ir/function_graph.h"

#include <map>

#include "ir/analysis.h"

namespace relay {

FunctionGraph function_graph(const Module& m) {
  FunctionGraph out;
  std::map<Symbol, size_t> index;
  for (const auto& [name, fn] : m.functions()) {
    index[name] = out.names.size();
    out.names.push_back(name);
  }
  for (const auto& [name, fn] : m.functions()) {
    std::vector<size_t>& mentions = out.mentions.emplace_back();
    for (Symbol other : mentioned_globals(fn)) {
      if (const auto it = index.find(other); it != index.end()) mentions.push_back(it->second);
    }
  }
  return out;
}

}  // namespace relay
