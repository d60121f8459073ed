#include "vta/sim/products_x86.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

namespace relay::vta {
namespace {

bool takes_bytes(const Params& p) {
  return p.log_inp_width == 3 && p.log_wgt_width == 3 && p.log_block >= 3 && p.log_block <= 5;
}

int32_t word_at(const uint8_t* bytes) {
  int32_t out;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

[[gnu::target("avx2")]] inline __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
[[gnu::target("avx2")]] inline void store(void* to, __m256i value) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), value);
}

// Rows that are multiplied by one tile: their places in the scratchpads, and how far
// these are apart.
struct Rows {
  int32_t* acc;
  int64_t acc_step;  // numbers
  const uint8_t* x;
  int64_t x_step;  // bytes
  int64_t count;
  const uint8_t* tile;
};

// Calls add(rows) for all rows of the instruction. Sums come out the same in any order, so rows of
// one tile come together: those of the inner loop, if it leaves the tile alone and each of its
// turns has an accumulator of its own; else those of a vector. `row_bytes` is a row of inputs in
// the processor's form, and `tile_bytes` a tile.
void for_all_rows(const Gemm& g, int64_t row_bytes, int64_t tile_bytes, void (*add)(const Rows&)) {
  const bool whole_loop = g.batch == 1 && g.wgt_in == 0 && g.dst_in != 0;
  const int64_t acc_step = whole_loop ? g.dst_in * g.block : g.block;
  const int64_t x_step = whole_loop ? g.src_in * row_bytes : row_bytes;
  const int64_t count = whole_loop ? g.iter_in : g.batch;
  const uint32_t turns = whole_loop ? 1 : g.iter_in;
  for (const MicroOp& u : g.micro_ops) {
    for (uint32_t out = 0; out < g.iter_out; out++) {
      for (uint32_t in = 0; in < turns; in++) {
        const int64_t dst = u.dst + out * g.dst_out + in * g.dst_in,
                      src = u.src + out * g.src_out + in * g.src_in;
        const int64_t wgt = u.wgt + out * g.wgt_out + in * g.wgt_in;
        add({g.acc + dst * g.batch * g.block, acc_step, g.inp + src * g.batch * row_bytes, x_step, count,
             g.wgt + wgt * tile_bytes});
      }
    }
  }
}

// Rows that are multiplied at once: each load of weights is used so often.
constexpr int kRowsAtOnce = 2;

// --- AVX2. A tile has for each pair of columns: for each row, the two numbers with 16 bits.

constexpr int64_t kPairBytes = 4;

[[gnu::target("avx2")]] void widen_bytes(const uint8_t* from, int64_t count, uint8_t* to) {
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i), _mm256_cvtepi8_epi16(bytes));
  }
  for (; i < count; i++) {
    const int16_t number = static_cast<int8_t>(from[i]);
    std::memcpy(to + 2 * i, &number, 2);
  }
}

void widen_pairs(const Params& p, const uint8_t* from, int64_t count, uint8_t* to) {
  widen_bytes(from, count * p.batch() * p.block(), to);
}

// Eight rows of eight pairs become eight pairs of eight rows, `to_step` bytes apart.
[[gnu::target("avx2")]] void transpose_pairs(const __m256i (&rows)[8], uint8_t* to, int64_t to_step) {
  __m256i twos[8], fours[8];
  for (int i = 0; i < 4; i++) {
    twos[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    twos[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  for (int half = 0; half < 8; half += 4) {
    for (int k = 0; k < 2; k++) {
      fours[half + 2 * k] = _mm256_unpacklo_epi64(twos[half + k], twos[half + 2 + k]);
      fours[half + 2 * k + 1] = _mm256_unpackhi_epi64(twos[half + k], twos[half + 2 + k]);
    }
  }
  for (int k = 0; k < 4; k++) {
    store(to + k * to_step, _mm256_permute2x128_si256(fours[k], fours[4 + k], 0x20));
    store(to + (4 + k) * to_step, _mm256_permute2x128_si256(fours[k], fours[4 + k], 0x31));
  }
}

[[gnu::target("avx2")]] void pack_pairs(const Params& p, const uint8_t* from, int64_t count, uint8_t* to) {
  const int64_t block = p.block(), step = block * kPairBytes;
  for (int64_t tile = 0; tile < count; tile++, from += block * block, to += 2 * block * block) {
    for (int64_t row = 0; row < block; row += 8) {
      for (int64_t column = 0; column + 16 <= block; column += 16) {
        __m256i rows[8];
        for (int k = 0; k < 8; k++) {
          const uint8_t* bytes = from + (row + k) * block + column;
          rows[k] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
        }
        transpose_pairs(rows, to + column / 2 * step + row * kPairBytes, step);
      }
    }
    if (block >= 16) continue;
    uint8_t pairs[16];  // BLOCK 8: of one row
    for (int64_t row = 0; row < block; row++) {
      widen_bytes(from + row * block, block, pairs);
      for (int64_t pair = 0; pair < block / 2; pair++)
        std::memcpy(to + pair * step + row * kPairBytes, pairs + pair * kPairBytes, kPairBytes);
    }
  }
}

// Sums of rows [0, kRows) behind `acc` and `x`.
template <int kBlock, int kRows>
[[gnu::target("avx2")]] inline void add_avx2(const Rows& r, int32_t* acc, const uint8_t* x) {
  constexpr int kVectors = kBlock / 8;
  __m256i sums[kRows][kVectors];
  for (int row = 0; row < kRows; row++) {
    for (int v = 0; v < kVectors; v++) sums[row][v] = load(acc + row * r.acc_step + 8 * v);
  }
#pragma GCC unroll 16
  for (int pair = 0; pair < kBlock / 2; pair++) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++) {
      const __m256i weights = load(r.tile + (pair * kVectors + v) * 32);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; row++) {
        const __m256i both = _mm256_set1_epi32(word_at(x + row * r.x_step + pair * kPairBytes));
        sums[row][v] = _mm256_add_epi32(sums[row][v], _mm256_madd_epi16(both, weights));
      }
    }
  }
  for (int row = 0; row < kRows; row++) {
    for (int v = 0; v < kVectors; v++) store(acc + row * r.acc_step + 8 * v, sums[row][v]);
  }
}

template <int kBlock>
[[gnu::target("avx2")]] void add_avx2(const Rows& r) {
  int32_t* acc = r.acc;
  const uint8_t* x = r.x;
  int64_t row = 0;
  for (; row + kRowsAtOnce <= r.count; row += kRowsAtOnce) {
    add_avx2<kBlock, kRowsAtOnce>(r, acc, x);
    acc += kRowsAtOnce * r.acc_step;
    x += kRowsAtOnce * r.x_step;
  }
  if (row < r.count) add_avx2<kBlock, 1>(r, acc, x);
}

// --- AVX-512 VNNI. A tile has for each four columns: for each row, the four numbers; and behind
// all of them, for each row, the sum of its numbers times 128.

constexpr int64_t kFourBytes = 4, kSumBytes = 4, kOffset = 128;

void lift(const Params& p, const uint8_t* from, int64_t count, uint8_t* to) {
  constexpr uint64_t kLift = 0x8080808080808080;
  // Vectors have eight bytes or more.
  for (int64_t i = 0; i < count * p.batch() * p.block(); i += 8) {
    uint64_t eight;
    std::memcpy(&eight, from + i, 8);
    eight ^= kLift;
    std::memcpy(to + i, &eight, 8);
  }
}

void pack_fours(const Params& p, const uint8_t* from, int64_t count, uint8_t* to) {
  const int64_t block = p.block();
  for (int64_t tile = 0; tile < count; tile++, to += block * block + block * kSumBytes) {
    for (int64_t row = 0; row < block; row++, from += block) {
      for (int64_t four = 0; four < block / 4; four++)
        std::memcpy(to + (four * block + row) * kFourBytes, from + four * kFourBytes, kFourBytes);
      int32_t sum = 0;
      for (int64_t column = 0; column < block; column++) sum += static_cast<int8_t>(from[column]);
      sum *= kOffset;
      std::memcpy(to + block * block + row * kSumBytes, &sum, kSumBytes);
    }
  }
}

template <int kBlock, int kRows>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]] inline void add_vnni(const Rows& r, int32_t* acc,
                                                                             const uint8_t* x) {
  constexpr int kVectors = kBlock / 8;  // of 8 sums: the same code for all blocks
  __m256i sums[kRows][kVectors];
  for (int v = 0; v < kVectors; v++) {
    const __m256i offsets = load(r.tile + kBlock * kBlock + 32 * v);
    for (int row = 0; row < kRows; row++)
      sums[row][v] = _mm256_sub_epi32(load(acc + row * r.acc_step + 8 * v), offsets);
  }
#pragma GCC unroll 8
  for (int four = 0; four < kBlock / 4; four++) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v++) {
      const __m256i weights = load(r.tile + (four * kVectors + v) * 32);
#pragma GCC unroll 2
      for (int row = 0; row < kRows; row++) {
        const __m256i all = _mm256_set1_epi32(word_at(x + row * r.x_step + four * kFourBytes));
        sums[row][v] = _mm256_dpbusd_epi32(sums[row][v], all, weights);
      }
    }
  }
  for (int row = 0; row < kRows; row++) {
    for (int v = 0; v < kVectors; v++) store(acc + row * r.acc_step + 8 * v, sums[row][v]);
  }
}

template <int kBlock>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]] void add_vnni(const Rows& r) {
  int32_t* acc = r.acc;
  const uint8_t* x = r.x;
  int64_t row = 0;
  for (; row + kRowsAtOnce <= r.count; row += kRowsAtOnce) {
    add_vnni<kBlock, kRowsAtOnce>(r, acc, x);
    acc += kRowsAtOnce * r.acc_step;
    x += kRowsAtOnce * r.x_step;
  }
  if (row < r.count) add_vnni<kBlock, 1>(r, acc, x);
}

// --- one function for each BLOCK

void multiply_avx2(const Gemm& g) {
  const auto add = g.block == 8 ? add_avx2<8> : g.block == 16 ? add_avx2<16> : add_avx2<32>;
  for_all_rows(g, 2 * g.block, 2 * g.block * g.block, add);
}
void multiply_vnni(const Gemm& g) {
  const auto add = g.block == 8 ? add_vnni<8> : g.block == 16 ? add_vnni<16> : add_vnni<32>;
  for_all_rows(g, g.block, g.block * g.block + g.block * kSumBytes, add);
}

}  // namespace

const Products kAvx2Products = {
    .target = "cpu:avx2",
    .takes = takes_bytes,
    .inp_bytes = [](const Params& p) { return 2 * p.batch() * p.block(); },
    .wgt_bytes = [](const Params& p) { return 2 * p.block() * p.block(); },
    .prepare_inp = widen_pairs,
    .prepare_wgt = pack_pairs,
    .multiply = multiply_avx2,
};

const Products kVnniProducts = {
    .target = "cpu:avx512-vnni",
    .takes = takes_bytes,
    .inp_bytes = [](const Params& p) { return p.batch() * p.block(); },
    .wgt_bytes = [](const Params& p) { return p.block() * p.block() + p.block() * kSumBytes; },
    .prepare_inp = lift,
    .prepare_wgt = pack_fours,
    .multiply = multiply_vnni,
};

}  // namespace relay::vta

#endif
