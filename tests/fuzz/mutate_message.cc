#include <algorithm>
#include <optional>

#include "tests/fuzz/mutate.h"

namespace relay::fuzz {
namespace {

// A field of a message: a number, bytes, or fields that lie within it.
struct Field {
  uint64_t number = 0;
  unsigned wire = 0;
  uint64_t value = 0;
  std::string bytes = {};
  std::optional<std::vector<Field>> message = {};
};
using Message = std::vector<Field>;

std::optional<uint64_t> take_varint(std::string_view& in) {
  uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return out;
  }
  return std::nullopt;
}

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Recursive, but only over seeds, which are ours, and only so deep.
constexpr size_t kMostDepth = 24;

// The fields of a message; nothing if the bytes are none. Bytes that could be a message
// are taken for one.
std::optional<Message> fields_of(std::string_view in, size_t depth = 0) {
  Message out;
  while (!in.empty()) {
    const std::optional<uint64_t> tag = take_varint(in);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return std::nullopt;
    Field f{.number = *tag >> 3, .wire = static_cast<unsigned>(*tag & 7)};
    if (f.wire == 0) {
      const std::optional<uint64_t> value = take_varint(in);
      if (!value) return std::nullopt;
      f.value = *value;
    } else {
      uint64_t length = f.wire == 1 ? 8 : 4;
      if (f.wire == 2) {
        const std::optional<uint64_t> said = take_varint(in);
        if (!said) return std::nullopt;
        length = *said;
      } else if (f.wire != 1 && f.wire != 5) {
        return std::nullopt;
      }
      if (length > in.size()) return std::nullopt;
      f.bytes = in.substr(0, length);
      in.remove_prefix(length);
      if (f.wire == 2 && !f.bytes.empty() && depth < kMostDepth && !is_text(f.bytes))
        f.message = fields_of(f.bytes, depth + 1);
    }
    out.push_back(std::move(f));
  }
  return out;
}

std::string bytes_of(const Message& message) {
  std::string out;
  for (const Field& f : message) {
    out += varint(f.number << 3 | f.wire);
    if (f.wire == 0) {
      out += varint(f.value);
      continue;
    }
    const std::string inside = f.message ? bytes_of(*f.message) : f.bytes;
    if (f.wire == 2) out += varint(inside.size());
    out += inside;
  }
  return out;
}

// All messages within one, and itself.
void collect(Message& message, std::vector<Message*>& out) {
  out.push_back(&message);
  for (Field& f : message) {
    if (f.message) collect(*f.message, out);
  }
}

// Some text of the message: names are what holds a graph together.
std::string some_text(const std::vector<Message*>& all, Random& random) {
  for (int tries = 0; tries < 20; ++tries) {
    const Message& m = *random.of(all);
    if (m.empty()) continue;
    const Field& f = random.of(m);
    if (f.wire == 2 && !f.message && is_text(f.bytes)) return f.bytes;
  }
  return {};
}

void change_value(Field& f, const std::vector<Message*>& all, const Seeds& seeds,
                  std::span<const std::string> words, Random& random) {
  if (f.wire == 0) {
    f.value = random.one_in(3) ? f.value + random.below(5) - 2 : interesting_integer(random);
  } else if (f.message) {
    f.message.reset();
    f.bytes = random.one_in(2) ? std::string() : mutate_bytes(f.bytes, seeds, random);
  } else if (f.wire == 2 && is_text(f.bytes) && !random.one_in(4)) {
    f.bytes = !words.empty() && random.one_in(3) ? random.of(words) : some_text(all, random);
  } else if (f.wire == 2) {
    f.bytes = mutate_bytes(f.bytes, seeds, random);
  } else {
    const size_t width = f.bytes.size();
    const uint64_t value = interesting_integer(random);
    for (size_t i = 0; i < width; ++i) f.bytes[i] = static_cast<char>(value >> (8 * i));
  }
}

void injure(Message& root, const Seeds& seeds, std::span<const std::string> words, Random& random) {
  std::vector<Message*> all;
  collect(root, all);
  Message& m = *random.of(all);
  if (m.empty()) return;
  const size_t at = random.below(m.size());
  const auto place = m.begin() + static_cast<ptrdiff_t>(at);
  switch (random.below(12)) {
    case 0: m.erase(place); break;
    case 1: m.insert(place, Field(m[at])); break;
    case 2: {  // many times
      const Field copy = m[at];
      const size_t most = kMostGrowth / (bytes_of({copy}).size() + 1);
      m.insert(place, std::min(most, size_t{1} << random.below(14)), copy);
      break;
    }
    case 3: std::swap(m[at], m[random.below(m.size())]); break;
    case 4: {  // a field of another message of the same seed, perhaps one around this
      const Message& from = *random.of(all);
      if (from.empty()) break;
      Field copy = random.of(from);
      m.insert(place, std::move(copy));
      break;
    }
    case 5: {  // a field of another seed
      std::optional<Message> other = fields_of(random.of(seeds));
      if (!other) break;
      std::vector<Message*> others;
      collect(*other, others);
      const Message& from = *random.of(others);
      if (!from.empty()) m.insert(place, random.of(from));
      break;
    }
    case 6: m[at].number = random.one_in(4) ? 1 + random.below(30) : random.of(m).number; break;
    case 7: {  // a message within itself, deeper and deeper
      if (!m[at].message) break;
      const Field copy = m[at];
      std::string inside = bytes_of({copy});
      for (size_t n = size_t{1} << random.below(9); n > 0 && inside.size() < kMostGrowth; --n)
        inside = bytes_of({Field{.number = copy.number, .wire = 2, .bytes = inside}});
      m[at] = {.number = copy.number, .wire = 2, .bytes = std::move(inside)};
      break;
    }
    default: change_value(m[at], all, seeds, words, random);
  }
}

}  // namespace

std::string mutate_message(const std::string& message, const Seeds& seeds, std::span<const std::string> words,
                           Random& random) {
  std::optional<Message> root = fields_of(message);
  if (!root) return mutate_bytes(message, seeds, random);
  for (size_t injuries = 1 + random.below(2) * random.below(4); injuries > 0; --injuries)
    injure(*root, seeds, words, random);
  return bytes_of(*root);
}

}  // namespace relay::fuzz
