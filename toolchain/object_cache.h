// Object files on disk, by the fingerprint of what they were compiled from.
//
// Several processes may use one folder: entries are written whole or not at all, and one that is
// not what was written is removed when it is met. A folder that cannot be written to keeps nothing;
// that is no failure. Nor does one that others own or may write to: what is in it is run.
#pragma once

#include <cstdint>
#include <string>

namespace relay::toolchain {

class ObjectCache {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;

  // Where the environment says: $RELAY_CACHE, or nowhere if that is "off"; else cache_folder(), or
  // nowhere if there is none.
  ObjectCache() : ObjectCache(folder_of_environment()) {}
  // Empty: nowhere.
  explicit ObjectCache(std::string folder, uint64_t most_bytes = kMostBytes);
  static std::string folder_of_environment();
  bool keeps() const { return !folder_.empty(); }

  // False if there is no such entry.
  bool load(const std::string& key, std::string& object) const;
  void store(const std::string& key, const std::string& object) const;
  // Removes what was not used for longest until the rest is a quarter below the
  // bound, if it is above.
  void trim() const;

 private:
  std::string path(const std::string& key) const { return folder_ + "/" + key + ".object"; }

  std::string folder_;
  uint64_t most_bytes_;
};

}  // namespace relay::toolchain
