// libFuzzer: the bytes are those of the generator, and every law that needs no compiler must hold
// of their program.
//
//   ./dev fuzz 60s --libfuzzer program
//
// What it finds: `property --law LAW --bytes ...` with the bytes in hexadecimal shrinks
// it and shows it.
#include <cstdio>
#include <cstdlib>

#include "tests/property/laws.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace relay::property;
  const Bytes bytes(data, data + size);
  Tally ignored;
  for (const Law& law : laws()) {
    if (law.compiles) continue;
    const std::string wrong = broken(law, bytes, ignored);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "law `%s`: %s\n%s", std::string(law.name).c_str(), wrong.c_str(),
                 show(generate(bytes, law.options)).c_str());
    std::abort();
  }
  return 0;
}
