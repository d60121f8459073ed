// What tests of readers share: damaged copies of sound files, the same ones in every run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace relay::data {

// A copy of `bytes` with a few random injuries: bits, numbers that are too large, parts that are missing or twice.
inline std::string mutated(const std::string& bytes, std::mt19937_64& random) {
  std::string out = bytes;
  const auto below = [&](size_t n) { return n == 0 ? size_t{0} : static_cast<size_t>(random() % n); };
  for (size_t injuries = 1 + below(4); injuries > 0; --injuries) {
    const size_t at = below(out.size());
    switch (below(9)) {
      case 0:
        if (!out.empty()) out[at] = static_cast<char>(out[at] ^ (1 << below(8)));
        break;
      case 1:
        if (!out.empty()) out[at] = static_cast<char>(random());
        break;
      case 2: out.resize(at); break;
      case 3: out.erase(at, 1 + below(16)); break;
      case 4: out.insert(at, out.substr(below(out.size()), 1 + below(64))); break;
      case 5: out.insert(at, std::string(1 + below(16), static_cast<char>(random()))); break;
      case 6: {  // a number: the largest, the smallest, one off
        constexpr uint64_t kNumbers[] = {0,
                                         1,
                                         127,
                                         128,
                                         255,
                                         65535,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0xffffffffffffffff};
        const uint64_t number = kNumbers[below(std::size(kNumbers))];
        const size_t width = size_t{1} << below(4);
        for (size_t i = 0; i < width && at + i < out.size(); ++i) {
          out[at + i] = static_cast<char>(number >> (8 * i));
        }
        break;
      }
      case 7: {  // another digit, for formats that are text
        const size_t digit = out.find_first_of("0123456789", at);
        if (digit != std::string::npos)
          out.insert(digit, std::string(1 + below(18), "0123456789-"[below(11)]));
        break;
      }
      default:
        if (!out.empty()) std::swap(out[at], out[below(out.size())]);
    }
  }
  return out;
}

// How many mutated inputs a test reads: few in every run, many at night.
inline int mutation_count() {
  const char* wanted = std::getenv("RELAY_MUTATIONS");
  return wanted ? std::atoi(wanted) : 2000;
}

// Calls read() with damaged copies of the seeds, for at most the given time. Returns how many there were.
template <class Read>
int for_each_mutation(const std::vector<std::string>& seeds, const Read& read,
                      std::chrono::seconds most = std::chrono::seconds(20)) {
  std::mt19937_64 random(20240607);
  const auto end =
      std::chrono::steady_clock::now() + (std::getenv("RELAY_MUTATIONS") ? std::chrono::seconds(3000) : most);
  int done = 0;
  for (; done < mutation_count() && std::chrono::steady_clock::now() < end; ++done) {
    read(mutated(seeds[static_cast<size_t>(done) % seeds.size()], random));
  }
  return done;
}

}  // namespace relay::data
