#include "frontend/onnx/wire.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "frontend/onnx/testing.h"

namespace relay::frontend {
namespace {

// A model of one weight with `bytes` bytes, and nodes behind it.
std::string model_with_weight(size_t bytes) {
  TestModel m;
  ::onnx::TensorProto& t = *m.graph->add_initializer();
  t.set_name("w");
  t.set_raw_data(std::string(bytes, '\x55'));
  m.input("x", {4});
  for (int i = 0; i < 2000; ++i) m.node("Relu", {"x"}, {"y" + std::to_string(i)});
  return m.proto.SerializeAsString();
}

TEST(Wire, AFileHasTheFactsOfItsText) {
  const std::string text = model_with_weight(1 << 20);
  WireBytes whole(text);
  uint64_t read = 0;
  WireBytes file(text.size(), [&](uint64_t offset, char* to, size_t length) {
    EXPECT_LE(offset + length, text.size());
    std::memcpy(to, text.data() + offset, length);
    read += length;
    return true;
  });
  const WireFacts a = scan_model(whole), b = scan_model(file);
  EXPECT_EQ(a.wrong, "");
  EXPECT_EQ(b.wrong, "");
  EXPECT_EQ(a.nodes, 2000u);
  EXPECT_EQ(b.nodes, a.nodes);
  EXPECT_EQ(b.messages, a.messages);
  EXPECT_FALSE(file.failed());
  EXPECT_LT(read, text.size() / 4);  // the weight is skipped
}

TEST(Wire, AFileThatBecomesShorterIsNoModel) {
  const std::string text = model_with_weight(1 << 20);
  bool first = true;
  WireBytes file(text.size(), [&](uint64_t offset, char* to, size_t length) {
    if (!std::exchange(first, false)) return false;
    std::memcpy(to, text.data() + offset, length);
    return true;
  });
  (void)scan_model(file);
  EXPECT_TRUE(file.failed());
}

TEST(Wire, WhatIsWrongNamesItsByte) {
  const std::string text("\x3a\x05\x0a\x09zz", 6);  // a graph of 5 bytes that has 4
  WireBytes bytes(text);
  EXPECT_EQ(scan_model(bytes).wrong, "it is cut short (byte 2)");
}

TEST(Wire, ATextMayBeShorterThanWhatItShouldStartWith) {
  WireBytes bytes("ver");
  EXPECT_FALSE(bytes.starts_with("version"));
  EXPECT_TRUE(bytes.starts_with("ve"));
}

}  // namespace
}  // namespace relay::frontend
