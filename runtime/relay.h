/* The C interface of an artifact: a `model.so` that Relay's ahead-of-time compiler made. C99 and C++.
 *
 *   relay_open_options options = {0};
 *   options.struct_size = sizeof options;
 *   relay_model* model;
 *   relay_context* context;
 *   if (relay_model_open(&options, &model) != RELAY_OK) ...
 *   if (relay_context_create(model, &context) != RELAY_OK) ...
 *   if (relay_run(context, inputs, 1, outputs, 1) != RELAY_OK) puts(relay_error(context));
 *   relay_context_free(context);
 *   relay_model_close(model);
 *
 * Laws. Structures that you fill in start with `struct_size`: set it to sizeof and everything else to zero before you
 * fill it, so that fields can be added. Nothing here keeps global state, installs signal handlers, prints, exits or
 * throws. Nothing that you pass in is freed, or kept after the call except where it says so.
 *
 * Threads. A model is constant: any number of threads may use it at once. A context belongs to one thread at a time;
 * only relay_cancel may be called from elsewhere. Runs in different contexts of one model do not disturb each other.
 * Same artifact, input and processor features give the same bits whatever the number of threads.
 *
 * Two artifacts in one process: open each with dlopen(RTLD_LOCAL) and take its functions from its own relay_get_api().
 * Close its models before dlclose: their threads run the library's code. */
#ifndef RELAY_RUNTIME_RELAY_H_
#define RELAY_RUNTIME_RELAY_H_

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Raised where a program that was compiled against an older header could no longer run. */
#define RELAY_ABI_VERSION 2u

/* What a call came to. 2 to 6 mean what the same exit codes of the `relay` command mean. */
typedef enum {
  RELAY_OK = 0,
  RELAY_TRAP = 1,  /* the program ran and failed: an integer divided by zero, an index outside its range */
  RELAY_USAGE = 2, /* an argument is wrong: a shape, a dtype, a device, a number of tensors, a null pointer */
  RELAY_BAD_MODEL = 3, /* the weights are missing, cut short or another model's */
  RELAY_UNSUPPORTED =
      4,               /* this machine lacks what the model was compiled for: a processor feature, a device */
  RELAY_LIMIT = 5,     /* memory ran out, or there may not be that many threads */
  RELAY_INTERNAL = 6,  /* a bug of Relay's */
  RELAY_CANCELLED = 7, /* relay_cancel stopped the run */
  RELAY_BUSY = 8,      /* the model still has contexts */
  RELAY_TIMED_OUT = 9  /* the run took longer than relay_set_timeout allows */
} relay_status;

/* The loaded program and its weights. Constant once opened. */
typedef struct relay_model relay_model;
/* The workspace of one run at a time, and the text of the last error. */
typedef struct relay_context relay_context;
/* A value of a context: a tensor, a tuple or a value of a data type. Constant. */
typedef struct relay_value relay_value;

/* Where memory comes from. Both functions may be called from several threads at once. */
typedef struct relay_allocator {
  uint32_t struct_size;
  void* self;
  /* NULL if there is none. `alignment` is a power of two, `size` is positive. */
  void* (*allocate)(void* self, size_t size, size_t alignment);
  void (*release)(void* self, void* memory, size_t size);
} relay_allocator;

#ifndef RELAY_PARALLEL_DECLARED /* generated kernels declare it themselves */
#define RELAY_PARALLEL_DECLARED
/* How the iterations of a parallel loop are spread over threads. */
typedef struct relay_parallel {
  uint32_t struct_size;
  void* self;
  /* Calls body(closure, begin, end) for ranges that cover [0, extent) without overlap, at once or one after the other,
   * and returns when all have returned: 0, or what the range with the smallest `begin` returned of those that did not
   * return 0. It may be called from several threads at once, and from inside a body. */
  int32_t (*run)(void* self, int64_t extent, int32_t (*body)(void* closure, int64_t begin, int64_t end),
                 void* closure);
} relay_parallel;
#endif

typedef enum {
  RELAY_LOG_INFO = 0,   /* what was opened */
  RELAY_LOG_WARNING = 1 /* why relay_context_create failed */
} relay_log_level;

/* Of the accelerator VTA: runtime/relay_vta.h, which the header of an artifact contains that needs it. */
typedef struct relay_vta_params relay_vta_params;
typedef struct relay_vta_driver relay_vta_driver;

/* What runs do with denormals: float32, bfloat16 and float64 numbers too small for a normal one. */
typedef enum {
  RELAY_DENORMALS_AS_COMPILED = 0, /* what `relay compile --denormals` said: to flush, if nothing was said */
  RELAY_DENORMALS_FLUSH = 1, /* where the model calculates, they count as 0, and results become 0: fast */
  RELAY_DENORMALS_KEEP = 2   /* they are numbers like others, which many CPUs are slow with */
} relay_denormals;

typedef struct relay_open_options {
  uint32_t struct_size;
  /* Threads that a run may use. 0: what `relay compile --threads` said, and if that was 0, too, one for each core that the
   * process may run on. At most 1024. They take no signals of the process. Ignored with `parallel`. */
  uint32_t threads;
  /* The file with the weights. NULL: those inside the library, else the file beside it that `relay compile` wrote. */
  const char* weights_path;
  /* NULL: the C library's memory. Copied; its `self` must outlive the model. */
  const relay_allocator* allocator;
  /* NULL: threads of our own, started by relay_model_open. Copied; its `self` must outlive the model. */
  const relay_parallel* parallel;
  /* NULL: silence. `text` lives as long as the call. Must be callable from any thread until the model is closed. */
  void (*log)(void* log_self, relay_log_level level, const char* text);
  void* log_self;
  /* Room for the text of an error of relay_model_open, which has no context to hold it. It is cut to fit and always
   * ends in 0; it is empty after a success. May be NULL. */
  char* error;
  size_t error_size;
  /* The driver of the VTA that the model needs (relay_needed_vta); ignored if it needs none. Copied; its `self` must
   * outlive the model. */
  const relay_vta_driver* vta;
  /* A relay_denormals, for what runs on CPUs; a GPU keeps them in any case. The control word of floating point is set
   * when a run begins and is the caller's again when it returns, whatever the run came to; threads that work for the run
   * have it too. Denormal weights that the model calculates with are 0 at -O1 and above, unless it was compiled
   * with `--denormals keep`. A run rounds to the nearest number and floating point raises no signal in it, whatever its
   * caller has set. */
  uint32_t denormals;
} relay_open_options;

/* RELAY_ABI_VERSION of the header that the artifact was compiled with. Refuse what is not yours. Any thread. */
uint32_t relay_abi_version(void);

/* The parameters of the VTA that layers of the model run on; NULL if all of it runs without one. Constant. Any thread. */
const relay_vta_params* relay_needed_vta(void);

/* Makes `*model`, to be given to relay_model_close; on failure it is NULL and `options->error` says why. The weights
 * are mapped or referred to, not copied. `options` may be NULL, and is not kept. Any thread; as often as you like. */
relay_status relay_model_open(const relay_open_options* options, relay_model** model);

/* What the model is, as JSON in UTF-8 that lives as long as the model: inputs and outputs in order with name, dtype
 * and dims (numbers, expressions over shape variables such as "2*n", or null if known only after the run), types of
 * values, bytes of workspace and weights, target, compile options, licence. docs/artifacts.md describes each key. Any
 * thread. */
const char* relay_model_describe(const relay_model* model);

/* Frees the model. RELAY_BUSY, and nothing happens, while it has contexts. NULL is allowed. No other thread may be
 * using the model. */
relay_status relay_model_close(relay_model* model);

/* Makes `*context`, to be given to relay_context_free; on failure it is NULL, and the model's log function is told why.
 * The model must outlive it. What a run needs and can be known beforehand is allocated here, so that runs of a model
 * without shape variables allocate nothing. RELAY_LIMIT if there is not enough memory. Any thread. */
relay_status relay_context_create(relay_model* model, relay_context** context);

/* Frees the context and the outputs that it holds. NULL is allowed. Not while it runs. */
void relay_context_free(relay_context* context);

/* Runs the model once.
 *
 * Inputs are read where they are and not written, unless an output is the same memory: memory that may only be read will
 * do. Outputs are written where they are. Neither is copied, but that a program with control flow copies into the outputs
 * what it has not computed last, and that a GPU has to be given what is not in its memory. Tensors must be on the model's
 * device, dense and row-major (strides NULL or the same thing; without elements, any), aligned for their dtype, and of the
 * shape and dtype that relay_model_describe gives; 4-bit integers take a byte each.
 *
 * An output may be the memory of an input, from its first byte to its last, where relay_model_describe lists the two under
 * "aliased": the run then replaces the input, as a training step does with its weights. Outputs overlap with nothing else;
 * RELAY_USAGE if they do.
 *
 * An output whose `data` is NULL is placed in the context instead: the run sets all its fields, and the memory and the
 * shape live until the context's next run or its end. That run may read them as inputs; if it fails, another try may, too.
 * If a run finds an output that still has what the run before gave, it places it anew. The output stays there if an input
 * that it may replace has the same memory. This is how to get results whose shape depends on the data.
 *
 * A shape variable takes its value from the inputs, and must be the same wherever one mentions it.
 *
 * A model that takes or gives more than tensors and tuples of them returns RELAY_UNSUPPORTED: see relay_call.
 *
 * On failure relay_error says why, and the contents of outputs mean nothing. The context may be used again. */
relay_status relay_run(relay_context* context, const DLTensor* const* inputs, size_t input_count,
                       DLTensor* const* outputs, size_t output_count);

/* Asks the run in progress, or else the next one, to stop at the next kernel; that run returns RELAY_CANCELLED and
 * forgets the request. From any thread, also from a signal handler, until relay_context_free is called. */
void relay_cancel(relay_context* context);

/* How long each later run of the context may take, from its beginning, in nanoseconds; 0, as at first: as long as it
 * likes. A run that takes longer returns RELAY_TIMED_OUT where it would begin the next kernel, or call the next function;
 * one that has come to its end by then succeeds. RELAY_USAGE if the number is negative. */
relay_status relay_set_timeout(relay_context* context, int64_t nanoseconds);

/* The text of the last failed call on this context, "" if the last one succeeded. It lives until the next call on the
 * context and must be read by the thread that has the context. */
const char* relay_error(const relay_context* context);

/* Values of a program with control flow.
 *
 * Types have numbers, from 0: those among "types" of relay_model_describe, where "parameters" and "result" refer to them. A
 * value is made with its type and belongs to the context; give it to relay_value_free, or let it end with the context. All
 * functions on values belong to the thread that has the context. A model of static dataflow has no values: it takes and
 * gives tensors, and these functions return RELAY_UNSUPPORTED. */
typedef enum {
  RELAY_VALUE_TENSOR = 0,
  RELAY_VALUE_TUPLE = 1,
  RELAY_VALUE_DATA = 2 /* a constructor of a data type, applied to fields */
} relay_value_kind;

/* A tensor with a copy of these elements. RELAY_USAGE if the type is no tensor, or another one. */
relay_status relay_value_tensor(relay_context* context, uint32_t type, const DLTensor* tensor,
                                relay_value** value);

/* A tuple (`constructor` 0), or a constructor of a data type, by its number among "constructors". The fields stay the
 * caller's. RELAY_USAGE if they are not as many as the constructor has, or of other types. */
relay_status relay_value_node(relay_context* context, uint32_t type, uint32_t constructor,
                              relay_value* const* fields, size_t field_count, relay_value** value);

typedef struct relay_value_view {
  uint32_t struct_size;
  uint32_t kind; /* a relay_value_kind */
  uint32_t type;
  uint32_t constructor;
  size_t field_count;
  DLTensor
      tensor; /* of RELAY_VALUE_TENSOR: its elements in the host's memory, to be read until the value is freed */
} relay_value_view;

/* What the value is. Set `struct_size` before. */
relay_status relay_value_look(relay_context* context, const relay_value* value, relay_value_view* view);

/* A field of a tuple or of a constructor, as a value of its own. */
relay_status relay_value_field(relay_context* context, const relay_value* value, size_t index,
                               relay_value** field);

/* NULL is allowed. */
void relay_value_free(relay_context* context, relay_value* value);

/* Runs the model once, on one value for each parameter; they stay the caller's. As relay_run otherwise. */
relay_status relay_call(relay_context* context, relay_value* const* arguments, size_t count,
                        relay_value** result);

/* All of the above behind one symbol. The table is constant; fields are only ever added at the end. Any thread. */
typedef struct relay_api {
  uint32_t struct_size; /* of the artifact's own table: look before using a field added after version 2 */
  uint32_t abi_version;
  relay_status (*model_open)(const relay_open_options* options, relay_model** model);
  const char* (*model_describe)(const relay_model* model);
  relay_status (*model_close)(relay_model* model);
  relay_status (*context_create)(relay_model* model, relay_context** context);
  void (*context_free)(relay_context* context);
  relay_status (*run)(relay_context* context, const DLTensor* const* inputs, size_t input_count,
                      DLTensor* const* outputs, size_t output_count);
  void (*cancel)(relay_context* context);
  const char* (*error)(const relay_context* context);
  relay_status (*value_tensor)(relay_context* context, uint32_t type, const DLTensor* tensor,
                               relay_value** value);
  relay_status (*value_node)(relay_context* context, uint32_t type, uint32_t constructor,
                             relay_value* const* fields, size_t field_count, relay_value** value);
  relay_status (*value_look)(relay_context* context, const relay_value* value, relay_value_view* view);
  relay_status (*value_field)(relay_context* context, const relay_value* value, size_t index,
                              relay_value** field);
  void (*value_free)(relay_context* context, relay_value* value);
  relay_status (*call)(relay_context* context, relay_value* const* arguments, size_t count,
                       relay_value** result);
  relay_status (*set_timeout)(relay_context* context, int64_t nanoseconds);
  const relay_vta_params* (*needed_vta)(void); /* added after version 2 */
} relay_api;
const relay_api* relay_get_api(void);

#ifdef __cplusplus
}
#endif

#endif /* RELAY_RUNTIME_RELAY_H_ */
