// nn.mirror_pad(data)[i] = data mirrored at its ends, before and after each axis
//
//   REFLECT: at the first and last element, as nn.pad with pad_mode "reflect"
//   SYMMETRIC: at the ends, so that the first and last element come twice, as "symmetric"
//
//   (Tensor[s, d]) -> Tensor[s + before + after, d]
//   C1: mode is "SYMMETRIC" or "REFLECT".   C2: what nn.pad requires of pad_width.
#include "base/cat.h"
#include "op/tensor/attributes.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

struct MirrorPadAttrs {
  PadWidth pad_width = {};
  std::string mode = "SYMMETRIC";
  static constexpr auto kFields =
      fields(field("pad_width", &MirrorPadAttrs::pad_width, "how many elements before and after each axis")
                 .required(),
             field("mode", &MirrorPadAttrs::mode, "SYMMETRIC or REFLECT"));
};

// The attributes of nn.pad.
std::vector<AttrArg> padding(Context& context, const MirrorPadAttrs& a) {
  if (a.mode != "SYMMETRIC" && a.mode != "REFLECT")
    throw RelationError{kAttributes, cat("mode must be SYMMETRIC or REFLECT, not `", a.mode, "`")};  // C1
  return {{"pad_width", pad_width(context, a.pad_width.axes)},
          {"pad_mode", std::string(a.mode == "REFLECT" ? "reflect" : "symmetric")}};
}

Type relate(Relation& r, const MirrorPadAttrs& a) {
  const std::vector<AttrArg> attrs = padding(r.context(), a);  // C1
  const Type types[] = {&r.tensor(0), r.tensor_of({}, r.tensor(0).dtype)};
  Relation inner(r.context(), types);
  return kPad.relate(inner, r.context().attrs(attrs));  // C2
}

Expr expand(Builder& b, const MirrorPadAttrs& a, const Site& c) {
  return call(b, kPad, {c.args[0], scalar_of(b, c.tensor(0).dtype, 0)}, padding(b.context(), a));
}

}  // namespace

const OpDef kMirrorPad = define<MirrorPadAttrs>({
    .name = "nn.mirror_pad",
    .doc = "Add the mirror image of a tensor before and after each axis.",
    .params = {{"data", "any tensor"}},
    .fusion = Fusion::kInjective,
    .relate = relate,
    .expand = expand,
});

}  // namespace relay::op
