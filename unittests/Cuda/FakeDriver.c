/*===- FakeDriver.c - A CUDA driver that writes down what it is asked -------===*\
|*
|* Stands for libcuda.so.1 where the host code of steps is tested. Copies and fills are done, at
|* addresses of this process that nothing may read directly; kernels are not: launches are written
|* down. What a library of this process puts into a graph (FakeDriver.h) is run. Any number it gives
|* back says nothing of a GPU.
|*
|* Streams know what they have waited for. In a capture a copy to or from the host fails, an update
|* on the host, and the launch of a kernel, where it meets a copy or an update of another stream
|* that no event orders before it: of a launch that is an argument that lies where a copy writes. A
|* capture fails that ends before its stream has waited for all others.
|*
|*   LLMMEM_FAKE_CUDA_LOG=file        one line a call; A0+256 is byte 256 of the first allocation
|*   LLMMEM_FAKE_CUDA_FAIL=name:n     the n-th call of `name` (from 1) fails
|*   LLMMEM_FAKE_CUDA_FREE=bytes      free memory at first (default 1 TiB)
|*   LLMMEM_FAKE_CUDA_DEVICES=4       devices (default 1)
|*   LLMMEM_FAKE_CUDA_CAPABILITY=80   ten times the compute capability (default 90)
|*   LLMMEM_FAKE_CUDA_CONTENTS=1      copies to and from the host say a hash of their bytes
|*   LLMMEM_FAKE_CUDA_NS=linear=7000,gelu=300   what events say that kernels with this in their name
|*                                    take; the first that fits (default 1000)
|*
|* Arguments of a launch are read as the PTX declares them:
|* `.entry name(.param .u64 name_param_0, ...)`.
|* At the end the log counts what was not given back.
|*
\*===----------------------------------------------------------------------===*/

#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "FakeDriver.h"
#include "CudaDriver.h"
#include "FakeOrder.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST = 4096 };

typedef struct {
  char *begin;
  size_t bytes;
  int number;
} Allocation;

typedef struct CUmod_st {
  char *text;
} Module;

/* A function looks its parameters up once. */
typedef struct CUfunc_st {
  char name[256];
  int widths[MOST], count;
} Function;

static Allocation allocations[MOST];
static int allocation_count, allocated;
static int modules, streams, graphs, executables, contexts, functions_found, events;
static int capture_number;
static size_t used;
static int64_t clock_ns;
static FILE *log_file;

typedef struct {
  char *to;
  const char *from; /* null: a fill */
  unsigned char byte;
  size_t bytes;
} Move;

/* What was captured: its nodes, the time of a replay, and what each replay runs. */
typedef struct CUgraph_st {
  int nodes, run_count;
  int64_t ns;
  struct {
    void (*run)(void *context);
    void *context;
    Move move;
  } runs[MOST];
} Graph;
static Graph *capturing; /* null: none */

/* Memory of the host that the device may copy. */
static Allocation pins[MOST];
static int pin_count;

static int is_pinned(const char *begin, size_t bytes) {
  for (int k = 0; k < pin_count; ++k)
    if (begin >= pins[k].begin && begin + bytes <= pins[k].begin + pins[k].bytes)
      return 1;
  return 0;
}

typedef struct CUstream_st {
  int number; /* from 0 */
} Stream;

/*===----------------------------------------------------------------------===*\
|* The log
\*===----------------------------------------------------------------------===*/

static FILE *output(void) {
  if (!log_file) {
    const char *path = getenv("LLMMEM_FAKE_CUDA_LOG");
    log_file = path ? fopen(path, "w") : NULL;
    if (!log_file)
      log_file = fopen("/dev/null", "w");
  }
  return log_file;
}

static void note_all(const char *format, va_list arguments) {
  vfprintf(output(), format, arguments);
  fputc('\n', output());
  fflush(output());
}

static void note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note_all(format, arguments);
  va_end(arguments);
}

void llmmem_fake_cuda_note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  note_all(format, arguments);
  va_end(arguments);
}

int llmmem_fake_cuda_fails(const char *name) {
  static int calls;
  return llmmem_fake_cuda_must_fail("LLMMEM_FAKE_CUDA_FAIL", name, &calls);
}

#define FAIL_IF_ASKED(name)                                                                        \
  if (llmmem_fake_cuda_fails(#name))                                                               \
  return 999

/* A1+256, or 0x1234 for what lies in no allocation. */
static const char *place(CUdeviceptr address, char *text, size_t size) {
  for (int k = 0; k < allocation_count; ++k) {
    Allocation *known = &allocations[k];
    uint64_t begin = (uint64_t)(uintptr_t)known->begin;
    if (known->begin && address >= begin && address < begin + known->bytes) {
      snprintf(text, size, "A%d+%llu", known->number, (unsigned long long)(address - begin));
      return text;
    }
  }
  snprintf(text, size, "0x%llx", (unsigned long long)address);
  return text;
}

const char *llmmem_fake_cuda_place(uint64_t address, char *text, size_t size) {
  return place(address, text, size);
}

int llmmem_fake_cuda_is_capturing(void) { return capturing != NULL; }

int llmmem_fake_cuda_node(void (*run)(void *context), void *context) {
  if (capturing->run_count == MOST)
    return 1;
  capturing->runs[capturing->run_count].run = run;
  capturing->runs[capturing->run_count++].context = context;
  ++capturing->nodes;
  return 0;
}

__attribute__((destructor)) static void count_what_is_left(void) {
  note("left: %d allocations, %d modules, %d streams, %d graphs, %d contexts, %d events", allocated,
       modules, streams, graphs + executables, contexts, events);
}

/*===----------------------------------------------------------------------===*\
|* The device
\*===----------------------------------------------------------------------===*/

static size_t free_at_first(void) {
  const char *text = getenv("LLMMEM_FAKE_CUDA_FREE");
  return text ? strtoull(text, NULL, 10) : (size_t)1 << 40;
}

CUresult cuInit(unsigned flags) {
  FAIL_IF_ASKED(cuInit);
  /* A library of this process may have kept the driver loaded after an earlier run. */
  if (log_file && allocated == 0) {
    fclose(log_file);
    log_file = NULL;
    allocation_count = capture_number = 0;
  }
  return 0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  FAIL_IF_ASKED(cuDevicePrimaryCtxRetain);
  *context = (CUcontext)&contexts;
  ++contexts;
  return 0;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  --contexts;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Memory
\*===----------------------------------------------------------------------===*/

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  FAIL_IF_ASKED(cuMemGetInfo_v2);
  *available = free_at_first() - used;
  *total = free_at_first();
  return 0;
}

/* Pages are committed when they are accessed: a fake 80 GB cost nothing. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  FAIL_IF_ASKED(cuMemAlloc_v2);
  if (bytes == 0 || used + bytes > free_at_first() || allocation_count == MOST)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *begin =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  note("alloc A%d %zu bytes", allocation_count, bytes);
  allocations[allocation_count] = (Allocation){begin, bytes, allocation_count};
  ++allocation_count;
  ++allocated;
  used += bytes;
  *address = (CUdeviceptr)(uintptr_t)begin;
  return 0;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  for (int k = 0; k < allocation_count; ++k)
    if ((CUdeviceptr)(uintptr_t)allocations[k].begin == address) {
      munmap(allocations[k].begin, allocations[k].bytes);
      used -= allocations[k].bytes;
      allocations[k].begin = NULL;
      --allocated;
      note("free A%d", k);
      return 0;
    }
  return 1;
}

CUresult cuMemHostRegister_v2(void *begin, size_t bytes, unsigned flags) {
  FAIL_IF_ASKED(cuMemHostRegister_v2);
  if (bytes == 0 || pin_count == MOST || is_pinned(begin, 1))
    return 1; /* CUDA_ERROR_INVALID_VALUE */
  note("pin %zu bytes", bytes);
  pins[pin_count++] = (Allocation){begin, bytes, 0};
  return 0;
}

CUresult cuMemHostUnregister(void *begin) {
  for (int k = 0; k < pin_count; ++k)
    if (pins[k].begin == begin) {
      pins[k] = pins[--pin_count];
      note("unpin");
      return 0;
    }
  return 713; /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */
}

/* Whole pages become zero by being released: a fake 80 GB stay uncommitted. */
static void fill(char *to, unsigned char byte, size_t count) {
  enum { PAGE = 4096 };
  char *first = (char *)(((uintptr_t)to + PAGE - 1) / PAGE * PAGE),
       *last = (char *)((uintptr_t)(to + count) / PAGE * PAGE);
  if (byte != 0 || first >= last || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
    memset(to, byte, count);
    return;
  }
  memset(to, 0, (size_t)(first - to));
  memset(last, 0, (size_t)(to + count - last));
}

/* A copy or a fill, now or in each replay. */
static void move(void *context) {
  const Move *what = context;
  if (what->from)
    memmove(what->to, what->from, what->bytes);
  else
    fill(what->to, what->byte, what->bytes);
}

static CUresult move_or_capture(Move what) {
  if (!capturing) {
    move(&what);
    return 0;
  }
  Move *kept = &capturing->runs[capturing->run_count % MOST].move;
  *kept = what;
  return llmmem_fake_cuda_node(move, kept);
}

/* What a graph copies to or from lies in pinned memory: an allocation here is that of the device.
 */
static CUresult move_between(const char *what, CUdeviceptr device, Move copy, void *host,
                             CUstream stream) {
  char text[64];
  note("%s%s %s %zu bytes%s%s", capturing ? "node " : "", what, place(device, text, sizeof text),
       copy.bytes, llmmem_fake_cuda_stream(stream),
       llmmem_fake_cuda_contents(copy.from, copy.bytes));
  if (!capturing)
    return move_or_capture(copy);
  if (!is_pinned(host, copy.bytes))
    return 906; /* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: from pageable memory it synchronizes */
  if (llmmem_fake_order_copy(copy.to, copy.from, copy.bytes, stream->number))
    return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
  return move_or_capture(copy);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  FAIL_IF_ASKED(cuMemcpyHtoDAsync_v2);
  return move_between("upload", to, (Move){(char *)(uintptr_t)to, from, 0, bytes}, (void *)from,
                      stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  FAIL_IF_ASKED(cuMemcpyDtoHAsync_v2);
  return move_between("download", from, (Move){to, (const char *)(uintptr_t)from, 0, bytes}, to,
                      stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  FAIL_IF_ASKED(cuMemcpyDtoDAsync_v2);
  char first[64], second[64];
  note("%scopy %s from %s %zu bytes%s", capturing ? "node " : "", place(to, first, sizeof first),
       place(from, second, sizeof second), bytes, llmmem_fake_cuda_stream(stream));
  return move_or_capture((Move){(char *)(uintptr_t)to, (const char *)(uintptr_t)from, 0, bytes});
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char byte, size_t count, CUstream stream) {
  FAIL_IF_ASKED(cuMemsetD8Async);
  char text[64];
  note("%sfill %s %zu bytes with %d%s", capturing ? "node " : "", place(to, text, sizeof text),
       count, byte, llmmem_fake_cuda_stream(stream));
  return move_or_capture((Move){(char *)(uintptr_t)to, NULL, byte, count});
}

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options,
                            void **values) {
  if (llmmem_fake_cuda_fails("cuModuleLoadDataEx")) {
    for (unsigned k = 0; k < count; ++k)
      if (options[k] == CU_JIT_ERROR_LOG_BUFFER)
        strcpy(values[k], "ptxas application ptx input, line 1; fatal : the log of the assembler");
    return 218;
  }
  *module = malloc(sizeof(Module));
  (*module)->text = strdup(image);
  ++modules;
  note("module with %zu bytes", strlen(image));
  return 0;
}

CUresult cuModuleUnload(CUmodule module) {
  free(module->text);
  free(module);
  --modules;
  return 0;
}

static void read_parameters(Function *function, const char *entry) {
  const char *open = strchr(entry, '('), *end = strchr(entry, ')'), *body = strchr(entry, '{');
  if (!open || !end || (body && body < open))
    return;
  for (const char *at = open; at < end && function->count < MOST;) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    const char *stop = comma ? comma : end;
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(stop - at), at);
    if (strstr(text, ".param"))
      function->widths[function->count++] = llmmem_fake_cuda_width(text);
    at = stop + 1;
  }
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  FAIL_IF_ASKED(cuModuleGetFunction);
  char entry[300];
  size_t length = (size_t)snprintf(entry, sizeof entry, ".entry %s", name);
  const char *found = module->text;
  while ((found = strstr(found, entry)) &&
         strchr("_$abcdefghijklmnopqrstuvwxyz0123456789", found[length]) && found[length])
    ++found;
  if (!found)
    return 500; /* CUDA_ERROR_NOT_FOUND */
  static Function known[MOST];
  Function *next = &known[functions_found++ % MOST];
  memset(next, 0, sizeof *next);
  snprintf(next->name, sizeof next->name, "%s", name);
  read_parameters(next, found);
  note("function %s", name);
  *function = next;
  return 0;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  FAIL_IF_ASKED(cuFuncSetAttribute);
  note("attribute %d of %s is %d", attribute, function->name, value);
  return 0;
}

void llmmem_fake_cuda_take_time(const char *name) {
  *(capturing ? &capturing->ns : &clock_ns) += llmmem_fake_cuda_ns(name);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void **arguments, void **extra) {
  FAIL_IF_ASKED(cuLaunchKernel);
  FILE *file = output();
  fprintf(file, "%slaunch %s grid %u %u %u block %u %u %u shared %u (", capturing ? "node " : "",
          function->name, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes);
  for (int k = 0; k < function->count; ++k) {
    uint64_t value = 0;
    char text[256];
    if (function->widths[k] == sizeof(CUtensorMap)) {
      fprintf(file, ", %s", llmmem_fake_cuda_map(arguments[k], text, sizeof text));
      continue;
    }
    memcpy(&value, arguments[k], (size_t)function->widths[k]);
    fprintf(file, "%s%s", k ? ", " : "", place(value, text, sizeof text));
  }
  fprintf(file, ")%s\n", llmmem_fake_cuda_stream(stream));
  if (capturing)
    ++capturing->nodes;
  for (int k = 0; capturing && k < function->count; ++k)
    if (function->widths[k] == 8) {
      uint64_t value;
      memcpy(&value, arguments[k], sizeof value);
      if (llmmem_fake_order_meets((const char *)(uintptr_t)value, 1, 0, stream->number))
        return 700; /* CUDA_ERROR_ILLEGAL_ADDRESS */
    }
  if (capturing)
    llmmem_fake_order_work(stream->number);
  llmmem_fake_cuda_take_time(function->name);
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Streams and graphs
\*===----------------------------------------------------------------------===*/

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  FAIL_IF_ASKED(cuStreamCreate);
  if (streams == MOST_FAKE_STREAMS)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *stream = calloc(1, sizeof **stream);
  (*stream)->number = streams++;
  return 0;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  free(stream);
  --streams;
  return 0;
}

int llmmem_fake_cuda_stream_number(void *stream) { return stream ? ((CUstream)stream)->number : 0; }

const char *llmmem_fake_cuda_stream(void *stream) {
  static char text[32];
  int number = llmmem_fake_cuda_stream_number(stream);
  text[0] = '\0';
  if (number > 0)
    snprintf(text, sizeof text, " on stream %d", number);
  return text;
}

CUresult cuStreamSynchronize(CUstream stream) {
  FAIL_IF_ASKED(cuStreamSynchronize);
  if (capturing)
    return 900; /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
  llmmem_fake_cuda_run_late(stream);
  return 0;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
  FAIL_IF_ASKED(cuStreamBeginCapture_v2);
  note("capture %d begins", ++capture_number);
  llmmem_fake_order_begin();
  capturing = calloc(1, sizeof *capturing);
  return capturing ? 0 : 2; /* CUDA_ERROR_OUT_OF_MEMORY */
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Graph *captured = capturing;
  capturing = NULL;
  FAIL_IF_ASKED(cuStreamEndCapture);
  if (!llmmem_fake_order_has_joined(stream->number)) {
    free(captured);
    return 904; /* CUDA_ERROR_STREAM_CAPTURE_UNJOINED */
  }
  note("capture ends with %d nodes", captured->nodes);
  ++graphs;
  *graph = captured;
  return 0;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long flags) {
  FAIL_IF_ASKED(cuGraphInstantiateWithFlags);
  ++executables;
  *executable = (CUgraphExec)graph;
  return 0;
}

CUresult cuGraphDestroy(CUgraph graph) {
  --graphs;
  free(graph);
  return 0;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  --executables;
  return 0;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  FAIL_IF_ASKED(cuGraphLaunch);
  const Graph *graph = (const Graph *)executable;
  note("replay of %d nodes", graph->nodes);
  for (int k = 0; k < graph->run_count; ++k)
    graph->runs[k].run(graph->runs[k].context);
  clock_ns += graph->ns;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Events: times are those of LLMMEM_FAKE_CUDA_NS
\*===----------------------------------------------------------------------===*/

typedef struct CUevent_st {
  int64_t ns;
  int recorded, number, has_time;
  int in_capture;  /* the number of the one that it was recorded in; 0: none */
  FakeClock clock; /* what is before it */
} Event;

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  FAIL_IF_ASKED(cuEventCreate);
  static int created;
  *event = calloc(1, sizeof **event);
  (*event)->has_time = flags != CU_EVENT_DISABLE_TIMING;
  (*event)->number = created++;
  ++events;
  return 0;
}

CUresult cuEventDestroy_v2(CUevent event) {
  free(event);
  --events;
  return 0;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  FAIL_IF_ASKED(cuEventRecord);
  if (capturing && event->has_time)
    return 900; /* an event of a graph has no time */
  if (!event->has_time)
    note("%srecord event %d%s", capturing ? "node " : "", event->number,
         llmmem_fake_cuda_stream(stream));
  event->in_capture = capturing ? capture_number : 0;
  event->clock = llmmem_fake_order_now(stream->number);
  event->ns = clock_ns;
  event->recorded = 1;
  return 0;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  FAIL_IF_ASKED(cuStreamWaitEvent);
  if (capturing && (!event->recorded || event->in_capture != capture_number))
    return 907; /* CUDA_ERROR_STREAM_CAPTURE_ISOLATION */
  llmmem_fake_order_wait(stream->number, &event->clock);
  if (!capturing)
    llmmem_fake_cuda_run_late(NULL);
  note("%swait for event %d%s", capturing ? "node " : "", event->number,
       llmmem_fake_cuda_stream(stream));
  return 0;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  FAIL_IF_ASKED(cuEventElapsedTime);
  if (!begin->recorded || !end->recorded || !begin->has_time || !end->has_time)
    return 400; /* CUDA_ERROR_INVALID_HANDLE */
  *milliseconds = (float)(1e-6 * (double)(end->ns - begin->ns));
  return 0;
}
