#include "vta/sim/races.h"

#include <algorithm>

namespace relay::vta {

void SharedPad::clear() {
  std::fill(filled_.begin(), filled_.end(), 0);
  std::fill(read_.begin(), read_.end(), 0);
}

void SharedDram::clear() {
  written_.clear();
  pages_.clear();
}

void SharedDram::will_write(uint64_t address, uint64_t bytes) {
  for (uint64_t page = address / kPage; page * kPage < address + bytes; page++) written_.insert(page);
}

SharedDram::Page* SharedDram::watched(uint64_t page) {
  if (!written_.contains(page)) return nullptr;
  std::unique_ptr<Page>& found = pages_[page];
  if (!found) found = std::make_unique<Page>();
  return found.get();
}

template <Engine... kOthers>
std::optional<Race> SharedDram::touch(const Access& access, uint64_t address, uint64_t bytes) {
  for (uint64_t at = address; at < address + bytes;) {
    const uint64_t end = std::min(address + bytes, (at / kPage + 1) * kPage);
    Page* page = watched(at / kPage);
    for (; page && at < end; at += kGranule) {
      Clock& last = (*page)[at % kPage / kGranule];
      for (const Engine other : {kOthers...}) {
        if (last[other] > access.clock[other]) return Race{other, last[other], at};
      }
      last[access.engine] = access.number;
    }
    at = end;
  }
  return std::nullopt;
}

std::optional<Race> SharedDram::write(const Access& access, uint64_t address, uint64_t bytes) {
  return touch<Engine::kLoad, Engine::kCompute>(access, address, bytes);
}

std::optional<Race> SharedDram::read(const Access& access, uint64_t address, uint64_t bytes) {
  return touch<Engine::kStore>(access, address, bytes);
}

}  // namespace relay::vta
