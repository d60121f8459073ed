#include "vta/compile/pack.h"

#include "base/check.h"
#include "base/integers.h"

namespace relay::vta {
namespace {

// Calls `visit(index in the tensor, index in the packed bytes)` for each number.
template <class Visit>
void for_each_number(const TensorShape& s, const Params& params, Visit visit) {
  const int64_t batch = params.batch(), block = params.block();
  const int64_t blocks = ceil_div(s.channels, block), pixels = s.rows * s.columns;
  int64_t at = 0;
  for (int64_t n = 0; n < s.batch; n++) {
    for (int64_t c = 0; c < s.channels; c++) {
      const int64_t first = (n / batch * blocks + c / block) * pixels;
      const int64_t inside = n % batch * block + c % block;
      for (int64_t p = 0; p < pixels; p++) visit(at++, (first + p) * batch * block + inside);
    }
  }
}

size_t index(int64_t i) { return static_cast<size_t>(i); }

}  // namespace

int64_t packed_bytes(const TensorShape& s, const Params& params) {
  return ceil_div(s.batch, params.batch()) * params.batch() * ceil_div(s.channels, params.block()) *
         params.block() * s.rows * s.columns;
}

std::vector<uint8_t> pack_tensor(const TensorShape& shape, std::span<const int8_t> tensor,
                                 const Params& params) {
  CHECK(std::ssize(tensor) == shape.size(), "a tensor of another size is packed");
  std::vector<uint8_t> out(index(packed_bytes(shape, params)));
  for_each_number(shape, params, [&](int64_t from, int64_t to) {
    out[index(to)] = static_cast<uint8_t>(tensor[index(from)]);
  });
  return out;
}

std::vector<int8_t> unpack_tensor(const TensorShape& shape, std::span<const uint8_t> packed,
                                  const Params& params) {
  CHECK(std::ssize(packed) == packed_bytes(shape, params), "a tensor of another size is unpacked");
  std::vector<int8_t> out(index(shape.size()));
  for_each_number(shape, params, [&](int64_t to, int64_t from) {
    out[index(to)] = static_cast<int8_t>(packed[index(from)]);
  });
  return out;
}

std::vector<uint8_t> pack_weights(const Layer& layer, std::span<const int8_t> weights, const Params& params) {
  const TensorShape shape = weight_shape(layer);
  CHECK(std::ssize(weights) == shape.size(), "weights of another size are packed");
  const BlockedLayer blocked = in_blocks(layer, params);
  const int64_t block = params.block(), taps = blocked.taps;
  const int64_t ins = layer.in_channels / layer.groups, outs = layer.out_channels / layer.groups;
  std::vector<uint8_t> out(index(blocked.weights * block * block));
  for (const Section& s : blocked.sections) {
    for (int64_t g = 0; g < s.bundles * s.groups; g++) {
      const int64_t bundle = g / s.groups, inside = g % s.groups, group = s.first_group + g;
      for (int64_t o = 0; o < outs; o++) {
        for (int64_t i = 0; i < ins; i++) {
          // Channels of the bundle, and the first tap in the tensor.
          const int64_t to = inside * outs + o, from = inside * ins + i;
          const int64_t first = layer.kind == LayerKind::kTransposed ? ((group * ins + i) * outs + o) * taps
                                                                     : ((group * outs + o) * ins + i) * taps;
          const int64_t tile =
              s.first_weight + ((bundle * s.out_blocks + to / block) * s.in_blocks + from / block) * taps;
          for (int64_t tap = 0; tap < taps; tap++)
            out[index(((tile + tap) * block + to % block) * block + from % block)] =
                static_cast<uint8_t>(weights[index(first + tap)]);
        }
      }
    }
  }
  return out;
}

std::vector<uint8_t> pack_channels(std::span<const int32_t> channels, const Params& params) {
  const int64_t block = params.block(), blocks = ceil_div(std::ssize(channels), block);
  std::vector<uint8_t> out;
  out.reserve(index(blocks * params.batch() * block * 4));
  for (int64_t b = 0; b < blocks; b++) {
    for (int64_t row = 0; row < params.batch(); row++) {
      for (int64_t c = b * block; c < (b + 1) * block; c++) {
        const auto bits = c < std::ssize(channels) ? static_cast<uint32_t>(channels[index(c)]) : 0;
        for (int byte = 0; byte < 4; byte++) out.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
      }
    }
  }
  return out;
}

}  // namespace relay::vta
