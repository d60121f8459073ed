// LLVM asks for random numbers by a function that the C library has since 2.36. With this one in its place the wheel runs on 2.35.
#include <stdlib.h>
#include <unistd.h>

unsigned arc4random(void) {
  unsigned out;
  if (getentropy(&out, sizeof out) != 0) abort();
  return out;
}
