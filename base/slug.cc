#include "base/slug.h"

#include "base/slug_texts.inc"

namespace relay {

static_assert(std::size(kSlugTexts) == kSlugNames.size());

std::string_view Slug::cause() const { return kSlugTexts[index_].cause; }
std::string_view Slug::remedy() const { return kSlugTexts[index_].remedy; }

}  // namespace relay
