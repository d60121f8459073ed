/* Calls a program with control flow: a list goes in, a list comes out.
 *
 *   relay compile examples/deploy/sums.relay -o sums.so
 *   cc -I . examples/deploy/sums.c ./sums.so -o sums
 *   ./sums 1 2 3   10 20 30   100 200 300
 *
 * Three numbers make a vector. The program prints the running sums, one a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sums.h"

/* Types and constructors have numbers; sums.h lists them, and so does relay_model_describe. */
enum { kList = 0, kVector = 1, kCons = 0, kNil = 1 };

static relay_context* context;

static void must(relay_status status) {
  if (status == RELAY_OK) return;
  fprintf(stderr, "sums: %s\n", relay_error(context));
  exit(1);
}

static relay_value* vector(float* elements) {
  int64_t shape[] = {3};
  DLTensor t;
  relay_value* value;
  memset(&t, 0, sizeof t);
  t.data = elements;
  t.device.device_type = kDLCPU;
  t.ndim = 1;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  must(relay_value_tensor(context, kVector, &t, &value)); /* copies the elements */
  return value;
}

/* Cons(head, tail), or Nil if both are null. Takes them over. */
static relay_value* list(relay_value* head, relay_value* tail) {
  relay_value *fields[2], *value;
  fields[0] = head;
  fields[1] = tail;
  must(relay_value_node(context, kList, head ? kCons : kNil, fields, head ? 2 : 0, &value));
  relay_value_free(context, head);
  relay_value_free(context, tail);
  return value;
}

static relay_value_view look(const relay_value* value) {
  relay_value_view view;
  view.struct_size = sizeof view;
  must(relay_value_look(context, value, &view));
  return view;
}

/* Prints the elements of a list, which it takes over. */
static void print(relay_value* l) {
  while (look(l).constructor == kCons) {
    relay_value *head, *tail;
    must(relay_value_field(context, l, 0, &head));
    must(relay_value_field(context, l, 1, &tail));
    const float* elements = (const float*)look(head).tensor.data; /* where the model has them */
    printf("%g %g %g\n", elements[0], elements[1], elements[2]);
    relay_value_free(context, head);
    relay_value_free(context, l);
    l = tail;
  }
  relay_value_free(context, l);
}

int main(int argc, char** argv) {
  char error[256] = "the library is of another version than its header";
  relay_open_options options;
  relay_model* model;
  relay_value *arguments, *result;
  if (argc % 3 != 1) {
    fprintf(stderr, "usage: %s [X Y Z]...\n", argv[0]);
    return 2;
  }
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.error = error;
  options.error_size = sizeof error;
  if (relay_abi_version() != RELAY_ABI_VERSION || relay_model_open(&options, &model) != RELAY_OK) {
    fprintf(stderr, "sums: %s\n", error);
    return 3;
  }
  if (relay_context_create(model, &context) != RELAY_OK) {
    fprintf(stderr, "sums: there is not enough memory\n");
    return 5;
  }
  arguments = list(NULL, NULL);
  for (int i = argc - 3; i > 0; i -= 3) {
    float elements[3];
    for (int k = 0; k < 3; ++k) elements[k] = (float)atof(argv[i + k]);
    arguments = list(vector(elements), arguments);
  }
  must(relay_call(context, &arguments, 1, &result));
  relay_value_free(context, arguments);
  print(result);
  relay_context_free(context);
  return relay_model_close(model) == RELAY_OK ? 0 : 1;
}
