#include "passes/call_memo.h"

#include <cstring>

namespace relay::passes {
namespace {

constexpr size_t kMostWords = 256;  // of a key
constexpr uint64_t kConstant = 1, kName = 2, kMade = 3;

uint64_t word(const void* p) { return reinterpret_cast<uintptr_t>(p); }

void add_constant(const Tensor& t, CallMemo::Key& key) {
  key.insert(key.end(), {kConstant, static_cast<uint64_t>(t.dtype().code), t.dtype().bits, t.shape().size()});
  for (int64_t n : t.shape()) key.push_back(static_cast<uint64_t>(n));
  const size_t first = key.size(), bytes = t.bytes();
  key.resize(first + (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  if (bytes > 0) std::memcpy(key.data() + first, t.data(), bytes);
}

}  // namespace

std::optional<CallMemo::Key> CallMemo::key(const Fn* fn, const std::vector<Partial>& args) {
  Key key{word(fn)};
  std::vector<Partial> pending(args.rbegin(), args.rend());
  while (!pending.empty()) {
    const Partial p = pending.back();
    pending.pop_back();
    const bool is_made =
        p.known && (p.known->kind == Known::Kind::kData || p.known->kind == Known::Kind::kTuple);
    if (const auto* c = p.name->as<Constant>()) {
      if (c->value->bytes() > kMostWords * sizeof(uint64_t)) return std::nullopt;
      add_constant(*c->value, key);
    } else if (is_made) {
      key.insert(key.end(), {kMade, word(p.known->ctor), p.known->fields.size()});
      pending.insert(pending.end(), p.known->fields.rbegin(), p.known->fields.rend());
    } else {
      key.insert(key.end(), {kName, word(p.name)});
    }
    if (key.size() + pending.size() > kMostWords) return std::nullopt;
  }
  return key;
}

const Partial* CallMemo::find(const Key& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void CallMemo::add(const Key& key, Partial value, size_t entries, size_t depth) {
  const auto [at, is_new] = values_.emplace(key, value);
  if (is_new) rows_.push_back({at, entries, depth});
}

void CallMemo::forget_deeper(size_t depth) {
  for (; !rows_.empty() && rows_.back().depth > depth; rows_.pop_back()) values_.erase(rows_.back().at);
}

void CallMemo::forget_since(size_t entries) {
  for (; !rows_.empty() && rows_.back().entries > entries; rows_.pop_back()) values_.erase(rows_.back().at);
}

}  // namespace relay::passes
