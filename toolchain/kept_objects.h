// What a C++ compiler made of a source before, so that the same source is not compiled again.
//
// An object depends on the compiler, its command, the variables that add folders of headers, and
// the files that the command can read in its folder: headers, and weights that a source includes.
// All of them are part of its key in the ObjectCache. Headers of the standard libraries come with
// the compiler; a source that includes other ones is not kept (Source::of_others).
#pragma once

#include <string>
#include <vector>

#include "toolchain/compiler.h"
#include "toolchain/object_cache.h"

namespace relay::toolchain {

class KeptObjects {
 public:
  // More bytes in the folder are read for longer than their objects are worth:
  // nothing is kept then.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;

  // For commands that run in `folder`, which has all that they read, and nothing else.
  KeptObjects(const Compiler& compiler, const std::string& folder);

  // Writes the file `object` in the folder if the command made one before. False if it did not.
  bool take(const std::vector<std::string>& command, const std::string& object) const;
  // The command has just made it.
  void keep(const std::vector<std::string>& command, const std::string& object) const;
  void trim() const { cache_.trim(); }

 private:
  std::string key(const std::vector<std::string>& command) const;

  ObjectCache cache_;
  std::string folder_, inputs_;  // empty inputs: nothing is kept
};

}  // namespace relay::toolchain
