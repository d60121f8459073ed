// What code is for: a processor, which runs functions, and at most one device beside it, which
// runs kernels.
//
// Who chooses loops, layouts or instructions asks a Target. Numbers about machines stand in
// machines.cc, each with its source, and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/fields.h"
#include "base/result.h"

namespace relay::target {

enum class Isa : uint8_t { kX86_64, kAarch64 };

// What some processors of an instruction set have, besides the length of their vectors.
// machines.cc says by which instructions, and which machines.
struct Features {
  bool fma = false;       // a multiplication and an addition, rounded once
  bool fp16 = false;      // vectors of float16 to float32 and back
  bool int8_dot = false;  // sums of four products of bytes
  bool bf16_dot = false;  // sums of two products of bfloat16
  static constexpr auto kFields =
      FieldList<&Features::fma, &Features::fp16, &Features::int8_dot, &Features::bf16_dot>{};

  friend bool operator==(const Features&, const Features&) = default;
};

struct Cache {
  int64_t bytes;            // that one core may count on
  int64_t bytes_per_cycle;  // that it reads of vectors

  friend bool operator==(const Cache&, const Cache&) = default;
};

// Has all of its numbers: loops for a processor without vectors or caches make no sense. The table
// of machines makes it, and nobody else needs to.
struct Cpu {
  Isa isa;
  Features features;
  int64_t vector_bytes, vector_registers;
  int64_t products_per_cycle;  // vectors that are multiplied and added to others
  int64_t line_bytes;          // of all caches
  Cache l1, l2, l3;

  Cpu() = delete;
  constexpr Cpu(Isa of, Features has, int64_t vector, int64_t registers, int64_t products, int64_t line,
                Cache first, Cache second, Cache third)
      : isa(of),
        features(has),
        vector_bytes(vector),
        vector_registers(registers),
        products_per_cycle(products),
        line_bytes(line),
        l1(first),
        l2(second),
        l3(third) {}

  int64_t lanes() const { return vector_bytes / 4; }  // elements of float32 in a vector register
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

struct Gpu {
  int64_t capability;    // the least that a device must have: ten times the major number, plus the minor
  int64_t shared_bytes;  // of the memory that threads of a block share, in every launch
  int64_t warp;          // threads

  Gpu() = delete;
  constexpr Gpu(int64_t least, int64_t shared, int64_t threads)
      : capability(least), shared_bytes(shared), warp(threads) {}

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// The accelerator VTA (docs/vta.md). All numbers but `threads` are powers of two.
struct Vta {
  int64_t batch, block;  // rows and columns of an input vector
  // Of the scratchpads for micro-ops, inputs, weights and accumulators.
  int64_t uop_bytes, inp_bytes, wgt_bytes, acc_bytes;
  int64_t threads;  // virtual threads: 1, or up to 2 where that is faster

  Vta() = delete;
  constexpr Vta(int64_t rows, int64_t columns, int64_t uop, int64_t inp, int64_t wgt, int64_t acc,
                int64_t most_threads)
      : batch(rows),
        block(columns),
        uop_bytes(uop),
        inp_bytes(inp),
        wgt_bytes(wgt),
        acc_bytes(acc),
        threads(most_threads) {}

  friend bool operator==(const Vta&, const Vta&) = default;
};

// Made from a text, or by one of the functions below.
struct Target {
  std::string text;  // canonical: parse_target(text) gives this target
  Cpu cpu;
  // At most one of the devices.
  std::optional<Gpu> gpu = {};
  std::optional<Vta> vta = {};

  friend bool operator==(const Target&, const Target&) = default;
};

// Texts: `cpu:avx2`, `aarch64:neon`, `cuda:sm_90`, `vta`. `avx2`, `aarch64` and `cuda` are short
// for some; `native` is the best that this processor has, with what was measured of it (host.h).
// Braces override numbers: `cpu:avx2{l1=48K,l2=2M}`, `vta{block=8}`. The processor beside a VTA is
// `native`, unless braces name it: `vta{host=avx2}`.
// Reports "bad-target", with what there is.
Result<Target> parse_target(std::string_view text, Diagnostics& diagnostics);
// The same for the command line: returns what is wrong, or an empty text.
[[nodiscard]] std::string wrong_target(std::string_view text);
// The target of a text that is known to be one.
Target target_of(std::string_view text);

// The processors that this process can have, from the least to the most demanding; each runs the
// code of those before it.
std::vector<std::string> native_names();
// All names that users may write, `native` first.
std::vector<std::string> all_names();

// The processor by itself: what a target without its device is.
Target host_of(const Target& target);

// What every processor of the instruction set runs: for code that is not worth variants.
Target baseline(Isa isa = Isa::kX86_64);
// What passes and schedules work for where nobody says otherwise.
Target default_target();

}  // namespace relay::target
