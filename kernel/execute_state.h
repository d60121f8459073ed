// What a run of the reference executor is made of: compiled expressions, arrays, declared regions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernel/buffer.h"
#include "kernel/race_check.h"
#include "runtime/tensor.h"

namespace relay::kernel {

// A compiled expression. Copies share it: expressions are graphs, and copying closures would
// make trees of them.
template <class T>
class Compiled {
 public:
  Compiled() = default;
  template <class F>
    requires std::is_invocable_r_v<T, F>
  Compiled(F f) : f_(std::make_shared<const std::function<T()>>(std::move(f))) {}
  T operator()() const { return (*f_)(); }

 private:
  std::shared_ptr<const std::function<T()>> f_;
};
using Int = Compiled<int64_t>;  // of integer or boolean dtype
using Real = Compiled<double>;  // of floating dtype; the value is exactly one of the dtype's
using Run = std::function<void()>;

// A buffer with memory.
struct Array {
  const Buffer* buffer = nullptr;
  std::vector<int64_t> shape, strides;
  ::relay::Tensor tensor;                 // of the buffer's shape, or flat if it has strides
  std::vector<uint8_t> defined = {};      // has the element been written? None for inputs
  std::vector<ElementHistory> past = {};  // in a race check only
};

// A declared region of the block that is running.
struct Window {
  const Buffer* buffer = nullptr;
  std::vector<Int> min, extent;
  std::vector<int64_t> low, high;  // as of the block's current iteration

  void update() {
    for (size_t d = 0; d < min.size(); ++d) {
      low[d] = min[d]();
      high[d] = low[d] + extent[d]();
    }
  }
  bool contains(const std::vector<int64_t>& indices) const {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d] < low[d] || indices[d] >= high[d]) return false;
    }
    return true;
  }
};

// What the accesses of a block are checked against.
struct BlockScope : BlockState {
  std::string name;
  std::vector<std::unique_ptr<Window>> reads, writes;
  const BlockScope* outer = nullptr;           // the block that it stands in
  std::unordered_set<const Buffer*> own = {};  // allocated inside, so of no concern to others

  bool allows(const Buffer* buffer, const std::vector<int64_t>& at, bool writing) const {
    if (own.contains(buffer)) return true;
    for (const auto& w : writing ? writes : reads) {
      if (w->buffer == buffer && w->contains(at))
        return outer == nullptr || outer->allows(buffer, at, writing);
    }
    return false;
  }
};

}  // namespace relay::kernel
