#include "tools/page/assembly.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace relay::tools {
namespace {

// "text @line" for each line.
std::string shown(std::string_view text) {
  std::string out;
  for (const AssemblyLine& l : parse_assembly(text, "k.cc")) out += cat(l.text, " @", l.source_line, "\n");
  return out;
}

TEST(Assembly, OfClangNamesTheLineThatSomethingWasInlinedInto) {
  EXPECT_EQ(shown("\t.text\n"
                  "\t.file\t\"k.cc\"\n"
                  "\t.file\t0 \"/tmp\" \"k.cc\" md5 0x0123\n"
                  "\t.file\t1 \"relay.h\"\n"
                  "\t.globl\tf                               # -- Begin function f\n"
                  "\t.type\tf,@function\n"
                  "f:                                      # @f\n"
                  ".Lfunc_begin0:\n"
                  "\t.loc\t0 7 0                           # k.cc:7:0\n"
                  "\t.cfi_startproc\n"
                  "# %bb.0:\n"
                  "\t.loc\t0 3 10 prologue_end             # k.cc:3:10 @[ k.cc:9:5 @[ k.cc:8:3 ] ]\n"
                  "\tvmovups\t(%rdi), %zmm0\n"
                  ".LBB0_1:                                # =>This Inner Loop Header: Depth=1\n"
                  "\t.loc\t1 30 1                          # relay.h:30:1\n"
                  "\tjne\t.LBB0_1\n"
                  ".Ltmp0:\n"
                  "\tretq\n"
                  "\t.section\t.rodata,\"a\",@progbits\n"
                  ".LCPI0_0:\n"
                  "\t.long\t0x3f800000                      # float 1\n"),
            "f: @0\n"
            "  vmovups (%rdi), %zmm0 @8\n"
            ".LBB0_1: @0\n"
            "  jne .LBB0_1 @0\n"
            "  retq @0\n");
}

TEST(Assembly, OfGccNamesTheLineOfTheSource) {
  EXPECT_EQ(shown("\t.file\t\"k.cc\"\n"
                  "\t.text\n"
                  "\t.section\t.text.f,\"ax\",@progbits\n"
                  "\t.type\tf, @function\n"
                  "f:\n"
                  ".LFB0:\n"
                  "\t.file 1 \"k.cc\"\n"
                  "\t.loc 1 2 14 view -0\n"
                  "\tmovl\t%edi, %eax\n"
                  "\tret\n"
                  "\t.section\t.debug_info,\"\",@progbits\n"
                  "\tf:\n"),
            "f: @0\n"
            "  movl %edi, %eax @2\n"
            "  ret @2\n");
}

TEST(Assembly, OfNothingIsNothing) {
  EXPECT_EQ(shown(""), "");
  EXPECT_EQ(shown("\t.file\t1 \"\n\t.loc\n:\n\t.file 1\n"), "");
}

}  // namespace
}  // namespace relay::tools
