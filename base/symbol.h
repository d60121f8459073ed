// Symbol: an interned name. Two symbols of one table are equal exactly if they are the same
// pointer; symbols of different tables compare by their text, so that modules can be compared
// with each other.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/arena.h"

namespace relay {

class Symbol {
 public:
  Symbol() = default;  // the empty name

  std::string_view text() const { return entry_ ? entry_->text : std::string_view(); }
  std::string str() const { return std::string(text()); }
  bool empty() const { return text().empty(); }

  friend bool operator==(Symbol a, Symbol b) { return a.entry_ == b.entry_ || a.text() == b.text(); }
  friend bool operator==(Symbol a, std::string_view b) { return a.text() == b; }
  friend auto operator<=>(Symbol a, Symbol b) {
    return a.text() <=> b.text();
  }  // alphabetical: deterministic

 private:
  friend class SymbolTable;
  struct Entry {
    std::string_view text;
  };
  explicit Symbol(const Entry* entry) : entry_(entry) {}
  const Entry* entry_ = nullptr;
};

class SymbolTable {
 public:
  explicit SymbolTable(Arena& arena) : arena_(arena) {}

  Symbol intern(std::string_view text) {
    if (text.empty()) return {};
    if (auto it = entries_.find(text); it != entries_.end()) return Symbol(it->second);
    const auto* entry = arena_.make<Symbol::Entry>(arena_.copy(text));
    entries_.emplace(entry->text, entry);
    return Symbol(entry);
  }

 private:
  Arena& arena_;
  std::unordered_map<std::string_view, const Symbol::Entry*> entries_;
};

}  // namespace relay

template <>
struct std::hash<relay::Symbol> {
  size_t operator()(relay::Symbol s) const { return std::hash<std::string_view>()(s.text()); }
};
