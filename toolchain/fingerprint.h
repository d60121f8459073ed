// A name for bytes that no other bytes have.
#pragma once

#include <string>
#include <string_view>

namespace relay::toolchain {

// 256 bits of SHA-2 over the text, as 64 hexadecimal digits.
std::string fingerprint(std::string_view text);

}  // namespace relay::toolchain
