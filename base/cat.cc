#include "base/cat.h"

#include <fmt/format.h>

namespace relay {

void Piece::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::kText: out += text_; return;
    case Kind::kChar: out += char_; return;
    case Kind::kSigned: out += fmt::format_int(signed_).c_str(); return;
    case Kind::kUnsigned: out += fmt::format_int(unsigned_).c_str(); return;
    case Kind::kFloat: fmt::format_to(std::back_inserter(out), "{}", float_); return;
    case Kind::kDouble: fmt::format_to(std::back_inserter(out), "{}", double_); return;
  }
}

std::string concatenate(std::initializer_list<Piece> pieces) {
  std::string out;
  for (const Piece& p : pieces) p.append_to(out);
  return out;
}

}  // namespace relay
