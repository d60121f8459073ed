// What a program says to the pass `plan-devices`: where values are. A run sees the value itself.
//
//   (T) -> T   C1: the program determines T: a generic function is of no one type.
//              C2: a device is KIND:NUMBER, as cpu:0, or KIND alone, or "".
#include <algorithm>

#include "base/cat.h"
#include "op/annotation/device.h"
#include "op/any_type.h"
#include "op/apply.h"
#include "op/ops.h"

namespace relay::op {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_'; }

void require_device(Relation& r, std::string_view attribute, const std::string& text) {
  if (text.empty() || !device_name(text).empty()) return;
  r.fail(kAttributes, cat("`", attribute, "` is \"", text,
                          "\", which names no device: write its kind and number, as in \"cpu:0\""));
}

Expr itself(Builder&, const OnDeviceAttrs&, const Site& c) { return c.args[0]; }

// on_device(x) = x
//
// x is computed on the device. Between x and the result there may be a copy to another one, unless
// `constrain_result` says that the result is there, too.
Type relate_on_device(Relation& r, const OnDeviceAttrs& a) {
  require_device(r, "virtual_device", a.virtual_device);  // C2
  return r.type(0);                                       // C1
}
std::vector<Expr> differentiate_on_device(Builder&, const OnDeviceAttrs&, const Site& c) { return {c.dy}; }

// device_copy(x) = x
//
// The elements of x on another device.
Type relate_device_copy(Relation& r, const DeviceCopyAttrs& a) {
  require_device(r, "src_virtual_device", a.src_virtual_device);  // C2
  require_device(r, "dst_virtual_device", a.dst_virtual_device);  // C2
  return r.type(0);                                               // C1
}
Expr expand_device_copy(Builder&, const DeviceCopyAttrs&, const Site& c) { return c.args[0]; }
// The way back goes the other way.
std::vector<Expr> differentiate_device_copy(Builder& b, const DeviceCopyAttrs& a, const Site& c) {
  return {call(b, kDeviceCopy, {c.dy},
               {{"src_virtual_device", a.dst_virtual_device}, {"dst_virtual_device", a.src_virtual_device}})};
}

}  // namespace

std::string device_name(std::string_view text) {
  if (text.starts_with("meta[")) return std::string(text);
  const std::string_view memory = text.substr(std::min(text.find('/'), text.size()));
  const std::string_view device = text.substr(0, text.size() - memory.size());
  const size_t colon = std::min(device.find(':'), device.size());
  const std::string_view kind = device.substr(0, colon);
  const std::string_view number = colon < device.size() ? device.substr(colon + 1) : "0";
  constexpr size_t kMostDigits = 4;
  const bool is_good =
      !kind.empty() && !is_digit(kind[0]) && std::all_of(kind.begin(), kind.end(), is_word) &&
      !number.empty() && number.size() <= kMostDigits &&
      std::all_of(number.begin(), number.end(), is_digit) && (number == "0" || number[0] != '0') &&
      (memory.empty() || (memory.size() > 1 && std::all_of(memory.begin() + 1, memory.end(),
                                                           [](char c) { return is_word(c) || c == '.'; })));
  return is_good ? cat(kind, ":", number, memory) : std::string();
}

const OpDef kOnDevice = define<OnDeviceAttrs>({
    .name = "on_device",
    .doc = "The input itself, which is computed on a device; `plan-devices` reads it.",
    .params = {{"body", "what is computed there"}},
    .fusion = Fusion::kElementwise,
    .view = true,
    .relate = relate_on_device,
    .expand = itself,
    .differentiate = differentiate_on_device,
});

const OpDef kDeviceCopy = define<DeviceCopyAttrs>({
    .name = "device_copy",
    .doc = "The input itself on another device; `plan-devices` inserts it.",
    .params = {{"data", "what is copied"}},
    .fusion = Fusion::kElementwise,
    .view = true,
    .relate = relate_device_copy,
    .expand = expand_device_copy,
    .differentiate = differentiate_device_copy,
});

}  // namespace relay::op
