// libFuzzer: any text gives a module or diagnostics, and a module prints as a text
// that means the same.
//
//   ./dev fuzz 60s --libfuzzer parse
#include <cstdio>
#include <cstdlib>

#include "ir/analysis.h"
#include "tests/property/run.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay::property;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string wrong;
  const auto fail = [](std::string_view what, const std::string& shown) {
    std::fprintf(stderr, "%.*s\n%s\n", static_cast<int>(what.size()), what.data(), shown.c_str());
    std::abort();
  };
  const relay::Result<relay::Module> read = read_back(text, wrong);
  if (!read) {
    if (wrong.empty()) fail("refused without a message", text);
    return 0;
  }
  const std::string printed = text_of(*read);
  const relay::Result<relay::Module> again = read_back(printed, wrong);
  if (!again) fail(wrong, printed);
  if (!alpha_equal(*read, *again)) fail("the printed text means another program", printed);
  if (text_of(*again) != printed) fail("printed again it is another text", printed);
  (void)checked(*read, wrong);
  return 0;
}
