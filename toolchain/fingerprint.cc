#include "toolchain/fingerprint.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

namespace relay::toolchain {

std::string fingerprint(std::string_view text) {
  ::llvm::SHA256 hash;
  hash.update(::llvm::StringRef(text.data(), text.size()));
  return ::llvm::toHex(hash.final(), /*LowerCase=*/true);
}

}  // namespace relay::toolchain
