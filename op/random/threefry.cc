// Random numbers of a counter: Threefry-4x64 of 20 rounds, as Salmon and others
// published it in 2011.
//
// A key is ten words of 64 bits: four of the cipher's key (0 to 3), two of a path (4, 5), a counter
// (6, 7), and where the path goes on (8, 9): one bit of the 128, and none if the path is full. A
// block of four numbers is the words 4 to 7, encrypted; the counter of the next block is one more.
// Who splits a key appends a bit to its path. If there is no room, the cipher's key is replaced: by
// the words 4 to 7, encrypted.
#include <array>

#include "base/cat.h"
#include "op/define.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// --- the cipher ----------------------------------------------------------------------------------

constexpr int kRounds = 20;
constexpr uint64_t kParity = 0x1BD11BDAA9FC1A22;
// How far the words 1 and 3 are turned in each round, modulo 8.
constexpr int kTurns[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37}, {25, 33}, {46, 12}, {58, 22}, {32, 32}};

uint64_t turned(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }
kernel::Expr turned(kernel::Expr word, int bits) {
  const auto by = [&](int n) { return word->pool->integer(n, kUInt64); };
  return bit_or(shift_left(word, by(bits)), shift_right(word, by(64 - bits)));
}
uint64_t differing(uint64_t a, uint64_t b) { return a ^ b; }
kernel::Expr differing(kernel::Expr a, kernel::Expr b) { return bit_xor(a, b); }
uint64_t constant(uint64_t, uint64_t value) { return value; }
kernel::Expr constant(kernel::Expr like, uint64_t value) {
  return like->pool->integer(static_cast<int64_t>(value), kUInt64);
}

template <class T>
using Words = std::array<T, 4>;

// The words with the key of turn `n` added, of which there is one for four rounds.
template <class T>
Words<T> with_key(const Words<T>& words, const Words<T>& key, int n) {
  T parity = constant(key[0], kParity);
  for (const T& word : key) parity = differing(parity, word);
  Words<T> out = words;
  for (size_t i = 0; i < 4; ++i) {
    const size_t k = (static_cast<size_t>(n) + i) % 5;
    out[i] = out[i] + (k == 4 ? parity : key[k]);
  }
  out[3] = out[3] + constant(key[0], static_cast<uint64_t>(n));
  return out;
}

template <class T>
Words<T> four_rounds(Words<T> w, int first) {
  for (int round = first; round < first + 4; ++round) {
    const auto& turns = kTurns[round % 8];
    // The words 1 and 3 change their places after each round.
    const size_t p = round % 2 == 0 ? 1 : 3, q = 4 - p;
    w[0] = w[0] + w[p];
    w[p] = differing(turned(w[p], turns[0]), w[0]);
    w[2] = w[2] + w[q];
    w[q] = differing(turned(w[q], turns[1]), w[2]);
  }
  return w;
}

Words<uint64_t> encrypted(Words<uint64_t> words, const Words<uint64_t>& key) {
  for (int round = 0; round < kRounds; round += 4)
    words = four_rounds(with_key(words, key, round / 4), round);
  return with_key(words, key, kRounds / 4);
}

// To lower: the words of so many blocks. Four rounds are a tensor for each word: as one expression
// they would be too large for what looks at it as a tree.
Words<kernel::Tensor> encrypted(kernel::Builder& k, kernel::Expr blocks, const Words<kernel::Expr>& key,
                                const std::function<kernel::Expr(size_t word, kernel::Expr block)>& counter) {
  using kernel::Expr;
  std::function<Words<Expr>(Expr)> words = [&](Expr block) {
    return Words<Expr>{counter(0, block), counter(1, block), counter(2, block), counter(3, block)};
  };
  Words<kernel::Tensor> out;
  for (int round = 0; round <= kRounds; round += 4) {
    Words<kernel::Tensor> next;
    for (size_t i = 0; i < 4; ++i) {
      next[i] = k.compute(cat("word", i), kUInt64, {blocks}, [&](kernel::Indices at) {
        const Words<Expr> keyed = with_key(words(at[0]), key, round / 4);
        return round == kRounds ? keyed[i] : four_rounds(keyed, round)[i];
      });
    }
    out = next;
    words = [next](Expr block) {
      return Words<Expr>{next[0](block), next[1](block), next[2](block), next[3](block)};
    };
  }
  return out;
}

// One of several values, by its number.
kernel::Expr chosen(kernel::Builder& k, kernel::Expr number, std::span<const kernel::Expr> values) {
  kernel::Expr out = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    out = select(equal(number, k.index(static_cast<int64_t>(i))), values[i], out);
  }
  return out;
}

// --- keys ----------------------------------------------------------------------------------------

constexpr size_t kKeyWords = 10;
constexpr uint64_t kFirstBit = uint64_t{1} << 63, kAllBits = ~uint64_t{0};
using Key = std::array<uint64_t, kKeyWords>;

const TensorType* key_type(Relation& r) {
  return r.tensor_of({Dim(static_cast<int64_t>(kKeyWords))}, kUInt64);
}

void require_key(Relation& r) {
  r.require_rank(0, 1);
  r.require(r.tensor(0).dtype == kUInt64, 0,
            cat("expected a key of uint64, found ", r.tensor(0).dtype.name()));
  r.same(r.tensor(0).dims[0], Dim(static_cast<int64_t>(kKeyWords)), 0, "words of a key");
}

Key read_key(const Tensor& t) {
  Key out;
  for (size_t i = 0; i < kKeyWords; ++i) out[i] = static_cast<uint64_t>(t.get_int(static_cast<int64_t>(i)));
  return out;
}

void write_key(const Key& key, Tensor& out) {
  for (size_t i = 0; i < kKeyWords; ++i) out.set_int(static_cast<int64_t>(i), static_cast<int64_t>(key[i]));
}

// The same with the next bit of the path.
void advance(Key& key) {
  key[9] = key[8] << 63 | key[9] >> 1;
  key[8] = key[8] >> 1;
}

std::array<kernel::Expr, 2> advanced(kernel::Builder& k, kernel::Expr high, kernel::Expr low) {
  const kernel::Expr one = k.pool().integer(1, kUInt64), last = k.pool().integer(63, kUInt64);
  return {shift_right(high, one), bit_or(shift_left(high, last), shift_right(low, one))};
}

// The words of the key that a call is given.
std::array<kernel::Expr, kKeyWords> words_of(kernel::Builder& k, const kernel::Tensor& key) {
  std::array<kernel::Expr, kKeyWords> out;
  for (size_t i = 0; i < kKeyWords; ++i) out[i] = key(k.index(static_cast<int64_t>(i)));
  return out;
}

kernel::Expr path_is_full(kernel::Builder& k, const std::array<kernel::Expr, kKeyWords>& key) {
  const kernel::Expr none = k.pool().integer(0, kUInt64);
  return logical_and(equal(key[8], none), equal(key[9], none));
}

// The cipher's key that replaces the one of a key whose path is full: a tensor for each word.
Words<kernel::Tensor> replaced(kernel::Builder& k, const std::array<kernel::Expr, kKeyWords>& key,
                               const Words<kernel::Expr>& counter) {
  return encrypted(k, k.index(1), {key[0], key[1], key[2], key[3]},
                   [&](size_t word, kernel::Expr) { return counter[word]; });
}

// --- threefry_generate ---------------------------------------------------------------------------

struct ThreefryGenerateAttrs {
  std::vector<Dim> out_shape = {};
  static constexpr auto kFields =
      fields(field("out_shape", &ThreefryGenerateAttrs::out_shape, "of the numbers").required());
};

// random.threefry_generate(key) = (next key, numbers): number i is word i mod 4 of block i / 4,
//     whose counter is the key's and i / 4
//
//   (Tensor[(10), uint64]) -> (Tensor[(10), uint64], Tensor[out_shape, uint64])
//   C1: the key is ten words of uint64.   C2: out_shape holds extents.
//
// The counter of the next key is larger by the number of elements. Where the counter has no room
// for them, the path gets a 1 and the counter is 0. If the path is full, the cipher's key is
// replaced, for a counter of all ones.
Type relate_generate(Relation& r, const ThreefryGenerateAttrs& a) {
  require_key(r);  // C1
  for (const Dim d : a.out_shape) {
    r.require(!d.is_unknown() && !(d.is_const() && d.value() < 0), kAttributes,
              cat("out_shape must hold extents, not ", relay::show(d)));  // C2
  }
  return r.tuple_of({key_type(r), r.tensor_of(a.out_shape, kUInt64)});
}

// The key of the numbers: the one given, if its counter has room.
Key key_with_room(Key key, uint64_t count) {
  if (key[7] < kAllBits - count) return key;
  if (key[8] == 0 && key[9] == 0) {
    const Words<uint64_t> next =
        encrypted({key[4], key[5], kAllBits, kAllBits}, {key[0], key[1], key[2], key[3]});
    return {next[0], next[1], next[2], next[3], 0, 0, 0, 0, kFirstBit, 0};
  }
  key[4] |= key[8];
  key[5] |= key[9];
  key[6] = key[7] = 0;
  advance(key);
  return key;
}

void evaluate_generate(const ThreefryGenerateAttrs&, Args in, Results out) {
  const auto count = static_cast<uint64_t>(out[1].size());
  Key key = key_with_room(read_key(in[0]), count);
  Words<uint64_t> block = {};
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 4 == 0)
      block = encrypted({key[4], key[5], key[6], key[7] + i / 4}, {key[0], key[1], key[2], key[3]});
    out[1].set_int(static_cast<int64_t>(i), static_cast<int64_t>(block[i % 4]));
  }
  key[6] = 0;
  key[7] += count;
  write_key(key, out[0]);
}

std::vector<kernel::Tensor> lower_generate(kernel::Builder& k, const ThreefryGenerateAttrs& a,
                                           const Lowering& c) {
  using kernel::Expr;
  const std::array<Expr, kKeyWords> given = words_of(k, c.in[0]);
  const auto word = [&](uint64_t v) { return k.pool().integer(static_cast<int64_t>(v), kUInt64); };
  const Expr none = word(0), size = product(a.out_shape).expr(c.pool), count = cast(kUInt64, size);
  const Expr has_room = less(given[7], word(kAllBits) - count);
  const Words<kernel::Tensor> next = replaced(k, given, {given[4], given[5], word(kAllBits), word(kAllBits)});
  const std::array<Expr, 2> path = advanced(k, given[8], given[9]);
  const kernel::Tensor key = k.compute("key", kUInt64, {k.index(kKeyWords)}, [&](kernel::Indices i) {
    std::array<Expr, kKeyWords> longer = given, fresh;
    longer[4] = bit_or(given[4], given[8]);
    longer[5] = bit_or(given[5], given[9]);
    longer[6] = longer[7] = none;
    longer[8] = path[0];
    longer[9] = path[1];
    for (size_t n = 0; n < kKeyWords; ++n)
      fresh[n] = n < 4 ? next[n](k.index(0)) : n == 8 ? word(kFirstBit) : none;
    const Expr other = select(path_is_full(k, given), chosen(k, i[0], fresh), chosen(k, i[0], longer));
    return select(has_room, chosen(k, i[0], given), other);
  });
  const std::array<Expr, kKeyWords> used = words_of(k, key);
  const Expr blocks = floor_div(size + 3, 4);
  const Words<kernel::Tensor> words =
      encrypted(k, blocks, {used[0], used[1], used[2], used[3]},
                [&](size_t n, Expr block) { return n < 3 ? used[4 + n] : used[7] + cast(kUInt64, block); });
  const kernel::Tensor after = k.compute("next", kUInt64, {k.index(kKeyWords)}, [&](kernel::Indices i) {
    const Expr moved = select(equal(i[0], k.index(7)), used[7] + count, key(i[0]));
    return select(equal(i[0], k.index(6)), none, moved);
  });
  const std::vector<Dim> flat{product(a.out_shape)};
  const kernel::Tensor numbers = k.compute("numbers", kUInt64, c.shape(1), [&](kernel::Indices i) {
    const Expr n = reindex(c.pool, flat, a.out_shape, i)[0], block = floor_div(n, 4);
    const std::array<Expr, 4> of{words[0](block), words[1](block), words[2](block), words[3](block)};
    return chosen(k, floor_mod(n, 4), of);
  });
  return {after, numbers};
}

// --- threefry_split ------------------------------------------------------------------------------

// random.threefry_split(key) = (left, right): the key with a 0, and the key with a 1 at the end of its path
//
//   (Tensor[(10), uint64]) -> (Tensor[(10), uint64], Tensor[(10), uint64])
//   C1: the key is ten words of uint64.
//
// If the path is full, the cipher's key is replaced, and the paths begin with this bit.
Type relate_split(Relation& r, const NoAttrs&) {
  require_key(r);  // C1
  return r.tuple_of({key_type(r), key_type(r)});
}

void evaluate_split(const NoAttrs&, Args in, Results out) {
  Key left = read_key(in[0]);
  if (left[8] == 0 && left[9] == 0) {
    const Words<uint64_t> next =
        encrypted({left[4], left[5], left[6], left[7]}, {left[0], left[1], left[2], left[3]});
    left = {next[0], next[1], next[2], next[3], 0, 0, 0, 0, kFirstBit, 0};
  }
  Key right = left;
  right[4] |= right[8];
  right[5] |= right[9];
  advance(left);
  advance(right);
  write_key(left, out[0]);
  write_key(right, out[1]);
}

std::vector<kernel::Tensor> lower_split(kernel::Builder& k, const NoAttrs&, const Lowering& c) {
  using kernel::Expr;
  const std::array<Expr, kKeyWords> given = words_of(k, c.in[0]);
  const auto word = [&](uint64_t v) { return k.pool().integer(static_cast<int64_t>(v), kUInt64); };
  const Words<kernel::Tensor> next = replaced(k, given, {given[4], given[5], given[6], given[7]});
  const kernel::Tensor key = k.compute("key", kUInt64, {k.index(kKeyWords)}, [&](kernel::Indices i) {
    std::array<Expr, kKeyWords> fresh;
    for (size_t n = 0; n < kKeyWords; ++n)
      fresh[n] = n < 4 ? next[n](k.index(0)) : word(n == 8 ? kFirstBit : 0);
    return select(path_is_full(k, given), chosen(k, i[0], fresh), chosen(k, i[0], given));
  });
  const auto half = [&](const char* name, bool right) {
    return k.compute(name, kUInt64, {k.index(kKeyWords)}, [&](kernel::Indices i) {
      std::array<Expr, kKeyWords> words = words_of(k, key);
      if (right) {
        words[4] = bit_or(words[4], words[8]);
        words[5] = bit_or(words[5], words[9]);
      }
      const std::array<Expr, 2> path = advanced(k, words[8], words[9]);
      words[8] = path[0];
      words[9] = path[1];
      return chosen(k, i[0], words);
    });
  };
  return {half("left", false), half("right", true)};
}

template <class A>
std::vector<Expr> no_gradient(Builder&, const A&, const Site&) {
  return {nullptr};
}

}  // namespace

const OpDef kThreefryGenerate = define<ThreefryGenerateAttrs>({
    .name = "random.threefry_generate",
    .doc = "Random bits, the same for the same key, and the key for the next ones.",
    .params = {{"key", "ten words"}},
    .relate = relate_generate,
    .evaluate = evaluate_generate,
    .differentiate = no_gradient,
    .lower = lower_generate,
});

const OpDef kThreefrySplit = define<NoAttrs>({
    .name = "random.threefry_split",
    .doc = "Two keys of one, for numbers that have nothing to do with each other.",
    .params = {{"key", "ten words"}},
    .relate = relate_split,
    .evaluate = evaluate_split,
    .differentiate = no_gradient,
    .lower = lower_split,
});

}  // namespace relay::op
