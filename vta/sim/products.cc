#include "vta/sim/products.h"

#include <array>
#include <cstring>

#include "target/host.h"
#include "vta/sim/products_x86.h"

namespace relay::vta {
namespace {

// --- any processor: numbers of 32 bits

int64_t vector_numbers(const Params& params) { return params.batch() * params.block(); }
int64_t tile_numbers(const Params& params) { return params.block() * params.block(); }

void widen(const uint8_t* from, int64_t count, int log_width, uint8_t* to) {
  for (int64_t i = 0; i < count; i++) {
    const int32_t number = signed_number(from + (i << log_width >> 3), log_width);
    std::memcpy(to + 4 * i, &number, 4);
  }
}

void multiply(const Gemm& g) {
  const auto* inp = reinterpret_cast<const uint32_t*>(g.inp);
  const auto* wgt = reinterpret_cast<const uint32_t*>(g.wgt);
  for (uint32_t out = 0; out < g.iter_out; out++) {
    for (uint32_t in = 0; in < g.iter_in; in++) {
      for (const MicroOp& u : g.micro_ops) {
        int32_t* to = g.acc + (u.dst + out * g.dst_out + in * g.dst_in) * g.batch * g.block;
        const uint32_t* x = inp + (u.src + out * g.src_out + in * g.src_in) * g.batch * g.block;
        const uint32_t* tile = wgt + (u.wgt + out * g.wgt_out + in * g.wgt_in) * g.block * g.block;
        for (int64_t b = 0; b < g.batch; b++, x += g.block, to += g.block) {
          for (int64_t n = 0; n < g.block; n++) {
            auto sum = static_cast<uint32_t>(to[n]);
            for (int64_t k = 0; k < g.block; k++) sum += x[k] * tile[n * g.block + k];
            to[n] = static_cast<int32_t>(sum);
          }
        }
      }
    }
  }
}

constexpr Products kScalarProducts = {
    .target = "",
    .takes = [](const Params&) { return true; },
    .inp_bytes = [](const Params& p) { return 4 * vector_numbers(p); },
    .wgt_bytes = [](const Params& p) { return 4 * tile_numbers(p); },
    .prepare_inp = [](const Params& p, const uint8_t* from, int64_t count,
                      uint8_t* to) { widen(from, count * vector_numbers(p), p.log_inp_width, to); },
    .prepare_wgt = [](const Params& p, const uint8_t* from, int64_t count,
                      uint8_t* to) { widen(from, count * tile_numbers(p), p.log_wgt_width, to); },
    .multiply = multiply,
};

}  // namespace

int32_t signed_number(const uint8_t* bytes, int log_width) {
  if (log_width == 3) return static_cast<int8_t>(bytes[0]);
  if (log_width == 4) return static_cast<int16_t>(bytes[0] | bytes[1] << 8);
  return static_cast<int32_t>(bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
                              uint32_t{bytes[3]} << 24);
}

std::span<const Products> all_products() {
#if defined(__x86_64__)
  static const std::array<Products, 3> kAll = {kVnniProducts, kAvx2Products, kScalarProducts};
#else
  static const std::array<Products, 1> kAll = {kScalarProducts};
#endif
  return kAll;
}

bool runs_here(const Products& products) {
  return products.target.empty() ||
         target::cannot_run(target::target_of(std::string(products.target))).empty();
}

const Products& best_products(const Params& params) {
  for (const Products& products : all_products()) {
    if (products.takes(params) && runs_here(products)) return products;
  }
  return all_products().back();
}

}  // namespace relay::vta
