// What code for oneDNN shares: a convolution or a product that a thread makes once and runs often.
// Part of programs with functions for the code generator `dnnl` (aot/external/dnnl.cc).
#if !__has_include(<dnnl.h>)
#error "oneDNN's header dnnl.h is missing: install libdnnl-dev, as by `apt-get install libdnnl-dev`"
#endif

#include <dnnl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR != 2
#error "dnnl.h is of another version than oneDNN 2: install Debian's libdnnl-dev (2.6)"
#endif

namespace relay_dnnl {

// Extents in the order of a tensor's axes.
struct Extents {
  int count;
  dnnl_dims_t of;
};

// A convolution of NCHW by OIHW, or by GOIHW if there are groups.
struct Convolution {
  Extents data, weight, result;
  dnnl_dims_t strides, dilation, before, after;  // a dilation of 0: neighbours
  bool bias, relu;
};

// A product of matrices, perhaps of each in a batch. Strides say which operand is transposed.
struct Product {
  Extents data, weight, result;
  dnnl_dims_t data_strides, weight_strides;
  bool bias, relu;
};

// oneDNN's processor and its queue of work, of one thread.
struct Machine {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_status_t status;

  Machine() {
    status = dnnl_engine_create(&engine, dnnl_cpu, 0);
    if (status == dnnl_success) status = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
  }
  Machine(const Machine&) = delete;
  ~Machine() {
    if (stream) dnnl_stream_destroy(stream);
    if (engine) dnnl_engine_destroy(engine);
  }
};

inline Machine& machine() {
  thread_local Machine own;
  return own;
}

// A tensor of a step: as callers have it, and in the layout that oneDNN chose. Where they differ, a
// run moves the elements.
class Operand {
 public:
  Operand() = default;
  Operand(const Operand&) = delete;
  ~Operand() {
    if (move_) dnnl_primitive_destroy(move_);
    if (chosen_) dnnl_memory_destroy(chosen_);
    if (plain_) dnnl_memory_destroy(plain_);
  }

  dnnl_status_t make(const dnnl_memory_desc_t& plain, const dnnl_memory_desc_t& chosen, bool is_result) {
    const dnnl_engine_t engine = machine().engine;
    dnnl_status_t status = dnnl_memory_create(&plain_, &plain, engine, DNNL_MEMORY_NONE);
    if (status != dnnl_success || dnnl_memory_desc_equal(&plain, &chosen)) return status;
    status = dnnl_memory_create(&chosen_, &chosen, engine, DNNL_MEMORY_ALLOCATE);
    if (status != dnnl_success) return status;
    dnnl_primitive_desc_t how = nullptr;
    status = dnnl_reorder_primitive_desc_create(&how, is_result ? &chosen : &plain, engine,
                                                is_result ? &plain : &chosen, engine, nullptr);
    if (status != dnnl_success) return status;
    status = dnnl_primitive_create(&move_, how);
    dnnl_primitive_desc_destroy(how);
    return status;
  }

  // What the step reads or writes.
  dnnl_memory_t memory() const { return chosen_ ? chosen_ : plain_; }

  dnnl_status_t before(const float* elements) {
    const dnnl_status_t status = dnnl_memory_set_data_handle(plain_, const_cast<float*>(elements));
    return status == dnnl_success && move_ ? moved(plain_, chosen_) : status;
  }
  dnnl_status_t result_in(float* elements) { return dnnl_memory_set_data_handle(plain_, elements); }
  dnnl_status_t after() { return move_ ? moved(chosen_, plain_) : dnnl_success; }

 private:
  dnnl_status_t moved(dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(move_, machine().stream, 2, args);
  }

  dnnl_memory_t plain_ = nullptr, chosen_ = nullptr;  // `chosen_` is null where that is `plain_`
  dnnl_primitive_t move_ = nullptr;
};

inline dnnl_status_t dense(const Extents& e, dnnl_memory_desc_t* out) {
  dnnl_dims_t strides;
  int64_t stride = 1;
  for (int i = e.count; i-- > 0; stride *= e.of[i]) strides[i] = stride;
  return dnnl_memory_desc_init_by_strides(out, e.count, e.of, dnnl_f32, strides);
}
inline dnnl_status_t any_layout(const Extents& e, dnnl_memory_desc_t* out) {
  return dnnl_memory_desc_init_by_tag(out, e.count, e.of, dnnl_f32, dnnl_format_tag_any);
}

// A convolution or a product, ready to run.
class Step {
 public:
  explicit Step(const Convolution& c) : has_bias_(c.bias) { made_ = make(c); }
  explicit Step(const Product& p) : has_bias_(p.bias) { made_ = make(p); }
  Step(const Step&) = delete;
  ~Step() {
    if (primitive_) dnnl_primitive_destroy(primitive_);
  }

  // Returns 0, or oneDNN's code of what failed.
  int32_t run(const float* data, const float* weight, const float* bias, float* result) {
    dnnl_status_t status = made_;
    if (status == dnnl_success) status = data_.before(data);
    if (status == dnnl_success) status = weight_.before(weight);
    if (status == dnnl_success && has_bias_) status = bias_.before(bias);
    if (status == dnnl_success) status = result_.result_in(result);
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, data_.memory()},
                                    {DNNL_ARG_WEIGHTS, weight_.memory()},
                                    {DNNL_ARG_DST, result_.memory()},
                                    {DNNL_ARG_BIAS, bias_.memory()}};
    const dnnl_stream_t stream = machine().stream;
    if (status == dnnl_success) status = dnnl_primitive_execute(primitive_, stream, has_bias_ ? 4 : 3, args);
    if (status == dnnl_success) status = result_.after();
    if (status == dnnl_success) status = dnnl_stream_wait(stream);
    return static_cast<int32_t>(status);
  }

 private:
  dnnl_status_t make(const Convolution& c) {
    dnnl_memory_desc_t data, weight, bias, result;
    const Extents channels = {1, {c.result.of[1]}};
    dnnl_convolution_desc_t what;
    dnnl_status_t status = any_layout(c.data, &data);
    if (status == dnnl_success) status = any_layout(c.weight, &weight);
    if (status == dnnl_success) status = dense(channels, &bias);
    if (status == dnnl_success) status = any_layout(c.result, &result);
    if (status == dnnl_success)
      status = dnnl_dilated_convolution_forward_desc_init(
          &what, dnnl_forward_inference, dnnl_convolution_direct, &data, &weight, c.bias ? &bias : nullptr,
          &result, c.strides, c.dilation, c.before, c.after);
    if (status == dnnl_success) status = dense(c.data, &data);
    if (status == dnnl_success) status = dense(c.weight, &weight);
    if (status == dnnl_success) status = dense(c.result, &result);
    return status == dnnl_success ? make(&what, data, weight, bias, result, c.relu) : status;
  }

  dnnl_status_t make(const Product& p) {
    dnnl_memory_desc_t data, weight, bias, result;
    const Extents columns = {2, {1, p.result.of[p.result.count - 1]}};
    dnnl_matmul_desc_t what;
    dnnl_status_t status =
        dnnl_memory_desc_init_by_strides(&data, p.data.count, p.data.of, dnnl_f32, p.data_strides);
    if (status == dnnl_success)
      status =
          dnnl_memory_desc_init_by_strides(&weight, p.weight.count, p.weight.of, dnnl_f32, p.weight_strides);
    if (status == dnnl_success) status = dense(columns, &bias);
    if (status == dnnl_success) status = dense(p.result, &result);
    // The weight stays as it lies: bringing it elsewhere takes about as long as a
    // product of one row.
    if (status == dnnl_success)
      status = dnnl_matmul_desc_init(&what, &data, &weight, p.bias ? &bias : nullptr, &result);
    return status == dnnl_success ? make(&what, data, weight, bias, result, p.relu) : status;
  }

  // The descriptions are those of the tensors as callers have them.
  dnnl_status_t make(const_dnnl_op_desc_t what, const dnnl_memory_desc_t& data,
                     const dnnl_memory_desc_t& weight, const dnnl_memory_desc_t& bias,
                     const dnnl_memory_desc_t& result, bool relu) {
    if (machine().status != dnnl_success) return machine().status;
    dnnl_primitive_attr_t attr = nullptr;
    dnnl_post_ops_t after = nullptr;
    dnnl_primitive_desc_t how = nullptr;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (status == dnnl_success) status = dnnl_post_ops_create(&after);
    if (status == dnnl_success && relu)
      status = dnnl_post_ops_append_eltwise(after, 1, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attr, after);
    if (status == dnnl_success)
      status = dnnl_primitive_desc_create(&how, what, attr, machine().engine, nullptr);
    if (status == dnnl_success) status = dnnl_primitive_create(&primitive_, how);
    const auto chosen = [&](dnnl_query_t query) { return *dnnl_primitive_desc_query_md(how, query, 0); };
    if (status == dnnl_success) status = data_.make(data, chosen(dnnl_query_src_md), false);
    if (status == dnnl_success) status = weight_.make(weight, chosen(dnnl_query_weights_md), false);
    if (status == dnnl_success && has_bias_) status = bias_.make(bias, bias, false);
    if (status == dnnl_success) status = result_.make(result, chosen(dnnl_query_dst_md), true);
    if (how) dnnl_primitive_desc_destroy(how);
    if (after) dnnl_post_ops_destroy(after);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
  }

  const bool has_bias_;
  dnnl_status_t made_ = dnnl_success;
  dnnl_primitive_t primitive_ = nullptr;
  Operand data_, weight_, bias_, result_;
};

// The elements of what passes between two steps; null if there is no memory for them.
class Buffer {
 public:
  explicit Buffer(size_t elements) : elements_(static_cast<float*>(malloc(elements * sizeof(float)))) {}
  Buffer(const Buffer&) = delete;
  ~Buffer() { free(elements_); }
  float* get() const { return elements_; }

 private:
  float* elements_;
};

}  // namespace relay_dnnl
