// UniqueNames: names that are all different, in constant time each.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"

namespace relay::frontend {

class UniqueNames {
 public:
  // The name itself the first time, then "name_1", "name_2", ...
  std::string take(const std::string& base) {
    std::string name = base;
    while (!taken_.insert(name).second) name = cat(base, "_", ++last_[base]);
    return name;
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> last_;  // number given to a name's like
};

}  // namespace relay::frontend
