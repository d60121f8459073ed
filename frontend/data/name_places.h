// Which input a file of a folder is for, by its name.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace relay::frontend::data {

class NamePlaces {
 public:
  explicit NamePlaces(std::span<const std::string> names);

  // The place of the name that `found` stands for: itself, else as file_name_of has it, else with _
  // in the place of each / and :. Nothing if it stands for none of them, or for several.
  std::optional<size_t> find(std::string_view found) const;
  // The places of all names that `found` is with _ in the place of / and :.
  std::span<const size_t> with_underscores(std::string_view found) const;

 private:
  std::map<std::string, size_t, std::less<>> names_, files_;
  std::map<std::string, std::vector<size_t>, std::less<>> underscored_;
};

}  // namespace relay::frontend::data
