// The text of an attribute's value, for messages and for the language alike.
#pragma once

#include <string>
#include <vector>

#include "ir/attrs.h"

namespace relay {

// What `head` gives for a value that is no list, and for a list its items between brackets: "[1,
// [2, 3]]". `head` gives "[" for a list. Lists may be nested as deeply as an importer likes, so
// this does not recurse.
template <class Head>
std::string attr_text(const AttrValue& v, Head&& head) {
  struct Open {
    const AttrValue* list;
    size_t next;
  };
  std::string out = head(v);
  std::vector<Open> open;
  if (v.kind == AttrKind::kList) open.push_back({&v, 0});
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next == top.list->list.size()) {
      out += "]";
      open.pop_back();
      continue;
    }
    if (top.next > 0) out += ", ";
    const AttrValue& item = top.list->list[top.next++];
    out += head(item);
    if (item.kind == AttrKind::kList) open.push_back({&item, 0});
  }
  return out;
}

}  // namespace relay
