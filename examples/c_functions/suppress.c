/* The C function of suppress.relay. docs/semantics.md ("C functions") says what it is given and what it promises. */
#include <stdint.h>

static float least(float a, float b) { return a < b ? a : b; }
static float greatest(float a, float b) { return a > b ? a : b; }
static float area(const float* box) { return greatest(box[2] - box[0], 0) * greatest(box[3] - box[1], 0); }

/* What two boxes have in common, of what they cover together. */
static float overlap(const float* a, const float* b) {
  const float common[4] = {greatest(a[0], b[0]), greatest(a[1], b[1]), least(a[2], b[2]), least(a[3], b[3])};
  const float together = area(a) + area(b) - area(common);
  return together > 0 ? area(common) / together : 0;
}

/* 0, or a number that the program's error names. The shape variable n comes last. */
int32_t suppress_boxes(const float* boxes, const float* scores, const float* most, uint8_t* kept, int64_t n) {
  enum { kGone = 0, kStays = 1, kOpen = 2 };
  if (!(*most >= 0 && *most <= 1)) return 1;
  for (int64_t i = 0; i < n; ++i) kept[i] = kOpen;
  for (;;) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; ++i) {
      if (kept[i] == kOpen && (best < 0 || scores[i] > scores[best])) best = i;
    }
    if (best < 0) return 0;
    kept[best] = kStays;
    for (int64_t i = 0; i < n; ++i) {
      if (kept[i] == kOpen && overlap(boxes + 4 * i, boxes + 4 * best) > *most) kept[i] = kGone;
    }
  }
}
