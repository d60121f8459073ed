#include "frontend/data/name_places.h"

#include "frontend/data/inputs.h"

namespace relay::frontend::data {
namespace {

std::string underscored(std::string name, std::string_view replaced) {
  for (char& c : name) {
    if (replaced.find(c) != std::string_view::npos) c = '_';
  }
  return name;
}

}  // namespace

NamePlaces::NamePlaces(std::span<const std::string> names) {
  for (size_t i = 0; i < names.size(); ++i) {
    names_.emplace(names[i], i);
    files_.emplace(file_name_of(names[i]), i);
    // A file name may have a colon, and many programs leave it.
    for (const std::string_view replaced : {"/:", "/", ":"}) {
      std::vector<size_t>& places = underscored_[underscored(names[i], replaced)];
      if (places.empty() || places.back() != i) places.push_back(i);
    }
  }
}

std::optional<size_t> NamePlaces::find(std::string_view found) const {
  if (const auto it = names_.find(found); it != names_.end()) return it->second;
  if (const auto it = files_.find(found); it != files_.end()) return it->second;
  const std::span<const size_t> places = with_underscores(found);
  return places.size() == 1 ? std::optional(places.front()) : std::nullopt;
}

std::span<const size_t> NamePlaces::with_underscores(std::string_view found) const {
  const auto it = underscored_.find(found);
  return it == underscored_.end() ? std::span<const size_t>() : std::span<const size_t>(it->second);
}

}  // namespace relay::frontend::data
