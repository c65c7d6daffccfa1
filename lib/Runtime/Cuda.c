/*===- Cuda.c - A planned step on an NVIDIA GPU -----------------------------===*/

#define _POSIX_C_SOURCE 200809L /* strdup */
#include "CudaRun.h"
#include "llmmem/Alignment.h"
#include "llmmem/Runtime/ProductStore.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel has this dynamic shared memory without opting in to more: 48 KiB, less its static shared
 * memory. */
enum { UNASKED_SHARED_BYTES = 47 << 10, MOST_ARGUMENTS = 512, MOST_MAPS = 8 };

/*===----------------------------------------------------------------------===*\
|* The device
\*===----------------------------------------------------------------------===*/

static int ask_for_capability(llmmem_cuda *run) {
  int major = 0, minor = 0;
  if (check(run,
            run->driver.device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                         run->device.handle),
            "asking for the device's capability") ||
      check(run,
            run->driver.device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                                         run->device.handle),
            "asking for the device's capability"))
    return 1;
  run->device.capability = 10 * major + minor;
  return 0;
}

/* A launcher may show each process only one device, whatever its number is. */
static int find_device(llmmem_cuda *run, int64_t number) {
  int count = 0;
  if (check(run, run->driver.device_count(&count), "counting CUDA devices"))
    return 1;
  if (count > 1 && number >= count) {
    char why[128];
    snprintf(why, sizeof why,
             "this is process %lld of its machine, which has %d devices; expected one for each",
             (long long)number, count);
    return fail(run, "finding a CUDA device", why);
  }
  return check(run, run->driver.device_get(&run->device.handle, count > 1 ? (int)number : 0),
               "finding a CUDA device");
}

static int open_device(llmmem_cuda *run, int64_t number) {
  CudaDriver *driver = &run->driver;
  size_t total;
  if (check(run, driver->init(0), "starting the CUDA driver") || find_device(run, number) ||
      check(run, driver->device_name(run->device.name, sizeof run->device.name, run->device.handle),
            "asking for the device's name") ||
      ask_for_capability(run) ||
      check(run, driver->context_retain(&run->device.context, run->device.handle),
            "opening the CUDA device") ||
      check(run, driver->context_set(run->device.context), "opening the CUDA device"))
    return 1;
  return check(run, driver->stream_create(&run->stream, CU_STREAM_NON_BLOCKING),
               "making a stream") ||
         check(run, driver->memory_info(&run->device.free_at_first, &total),
               "asking for the device's free memory");
}

llmmem_cuda *llmmem_cuda_open(const char *library, int64_t device, char *message, size_t size) {
  llmmem_cuda *run = calloc(1, sizeof *run);
  if (!run) {
    snprintf(message, size, "not enough memory to open the CUDA driver");
    return NULL;
  }
  run->matmuls.failed = -1;
  if (llmmem_cuda_driver_open(&run->driver, library, message, size)) {
    free(run);
    return NULL;
  }
  if (open_device(run, device) || llmmem_cuda_begin_program(run) < 0) {
    snprintf(message, size, "%s", run->message);
    llmmem_cuda_close(run);
    return NULL;
  }
  return run;
}

/* Errors of calls that release are ignored, because the driver reports earlier failures again. */
static void release_reserved(llmmem_cuda *run) {
  if (run->memory.arena)
    run->driver.memory_free(run->memory.arena);
  if (run->memory.resident)
    run->driver.memory_free(run->memory.resident);
  run->memory.arena = run->memory.resident = 0;
}

static void forget_graph(llmmem_cuda *run, Program *program) {
  if (program->executable)
    run->driver.graph_exec_destroy(program->executable);
  if (program->graph)
    run->driver.graph_destroy(program->graph);
  program->executable = NULL;
  program->graph = NULL;
}

void llmmem_cuda_close(llmmem_cuda *run) {
  if (!run)
    return;
  CudaDriver *driver = &run->driver;
  llmmem_cuda_wait_for_host(run);
  for (size_t k = 0; k < run->code.program_count; ++k)
    forget_graph(run, &run->code.programs[k]);
  release_reserved(run);
  llmmem_products_close(run->matmuls.products);
  llmmem_cuda_close_marks(run);
  llmmem_cuda_close_links(run);
  llmmem_cuda_unpin_all(run);
  for (size_t k = 0; k < run->code.module_count; ++k)
    driver->module_unload(run->code.modules[k]);
  if (run->stream)
    driver->stream_destroy(run->stream);
  if (run->device.context)
    driver->context_release(run->device.handle);
  llmmem_cuda_driver_close(driver);
  llmmem_cuda_free_updates(run);
  for (size_t k = 0; k < run->code.kernel_count; ++k)
    free(run->code.kernels[k].name);
  free(run->matmuls.store);
  free(run->code.programs);
  free(run->code.kernels);
  free(run->code.modules);
  free(run);
}

const char *llmmem_cuda_message(const llmmem_cuda *run) { return run->failed ? run->message : ""; }

const char *llmmem_cuda_device_name(const llmmem_cuda *run) { return run->device.name; }
int llmmem_cuda_capability(const llmmem_cuda *run) { return run->device.capability; }

int llmmem_cuda_describe(llmmem_cuda *run, llmmem_cuda_facts *facts) {
  CudaDriver *driver = &run->driver;
  const struct {
    int attribute, *value;
  } asked[] = {{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &facts->clock_khz},
               {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &facts->memory_clock_khz},
               {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts->multiprocessors}};
  for (size_t k = 0; k < sizeof asked / sizeof *asked; ++k)
    if (driver->device_attribute(asked[k].value, asked[k].attribute, run->device.handle))
      *asked[k].value = 0;
  size_t available = 0, total = 0;
  if (check(run, driver->version(&facts->cuda_version), "asking for the driver's version") ||
      check(run, driver->memory_info(&available, &total), "asking for the device's free memory"))
    return 1;
  facts->free_bytes = (int64_t)available;
  facts->total_bytes = (int64_t)total;
  return 0;
}

/*===----------------------------------------------------------------------===*\
|* Kernels
\*===----------------------------------------------------------------------===*/

/* Grows the array by one element. Returns null if there is no memory. */
static void *grow(void **array, size_t count, size_t size) {
  void *larger = realloc(*array, (count + 1) * size);
  if (!larger)
    return NULL;
  *array = larger;
  return (char *)larger + count * size;
}

int64_t llmmem_cuda_begin_program(llmmem_cuda *run) {
  Program *program =
      run->failed ? NULL
                  : grow((void **)&run->code.programs, run->code.program_count, sizeof *program);
  if (!program) {
    fail(run, "beginning a program", "not enough memory on the host");
    return -1;
  }
  *program = (Program){run->code.module_count, run->code.kernel_count, NULL, NULL};
  run->code.program = run->code.program_count;
  return (int64_t)run->code.program_count++;
}

int llmmem_cuda_choose_program(llmmem_cuda *run, int64_t program) {
  if (run->failed)
    return 1;
  if (program < 0 || (uint64_t)program >= run->code.program_count)
    return fail(run, "choosing a program", "there is none of that number");
  run->code.program = (size_t)program;
  return 0;
}

/* Kernels are launched by their number in their program. Returns null if there is none. */
static Kernel *find_kernel(llmmem_cuda *run, int64_t number) {
  const Program *program = &run->code.programs[run->code.program];
  size_t end = run->code.program + 1 < run->code.program_count ? program[1].first_kernel
                                                               : run->code.kernel_count;
  if (number < 0 || (uint64_t)number >= end - program->first_kernel)
    return NULL;
  return &run->code.kernels[program->first_kernel + (size_t)number];
}

int llmmem_cuda_load(llmmem_cuda *run, const char *ptx) {
  if (run->failed)
    return 1;
  CUmodule *module = grow((void **)&run->code.modules, run->code.module_count, sizeof *module);
  if (!module)
    return fail(run, "loading the kernels", "not enough memory on the host");
  char log[2048] = "";
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUresult result = run->driver.module_load(module, ptx, 2, options, values);
  char what[sizeof log + 64];
  snprintf(what, sizeof what, "loading the kernels%s%s", *log ? "\n" : "", log);
  if (check(run, result, what))
    return 1;
  ++run->code.module_count;
  return 0;
}

int llmmem_cuda_add_kernel(llmmem_cuda *run, size_t module, const char *name) {
  if (run->failed)
    return 1;
  module += run->code.programs[run->code.program].first_module;
  if (module >= run->code.module_count)
    return fail(run, name, "its module was not loaded");
  Kernel *kernel = grow((void **)&run->code.kernels, run->code.kernel_count, sizeof *kernel);
  char *copy = strdup(name);
  if (!kernel || !copy) {
    free(copy);
    return fail(run, name, "not enough memory on the host");
  }
  kernel->name = copy;
  kernel->shared_bytes = UNASKED_SHARED_BYTES;
  ++run->code.kernel_count;
  return check(run, run->driver.module_function(&kernel->function, run->code.modules[module], name),
               name);
}

/*===----------------------------------------------------------------------===*\
|* Memory
\*===----------------------------------------------------------------------===*/

static int allocate(llmmem_cuda *run, CUdeviceptr *address, int64_t bytes, const char *what) {
  /* The driver allocates no 0 bytes, and every buffer has an address. */
  size_t size = bytes > 0 ? (size_t)bytes : LLMMEM_ARENA_ALIGNMENT;
  if (check(run, run->driver.memory_alloc(address, size), what))
    return 1;
  if (*address % LLMMEM_ARENA_ALIGNMENT != 0)
    return fail(run, what, "the driver's address is no multiple of 256");
  return check(run, run->driver.fill(*address, 0, size, run->stream), what);
}

int llmmem_cuda_reserve(llmmem_cuda *run, int64_t resident, int64_t arena) {
  if (run->failed)
    return 1;
  release_reserved(run);
  size_t available, total;
  if (check(run, run->driver.memory_info(&available, &total),
            "asking for the device's free memory"))
    return 1;
  if (resident < 0 || arena < 0 || (uint64_t)resident + (uint64_t)arena > available) {
    char why[256];
    snprintf(why, sizeof why,
             "the step needs %lld bytes (resident %lld, arena %lld), and of the device's %llu are "
             "%llu free",
             (long long)resident + arena, (long long)resident, (long long)arena,
             (unsigned long long)total, (unsigned long long)available);
    return fail(run, run->device.name, why);
  }
  run->memory.arena_bytes = (size_t)arena;
  return allocate(run, &run->memory.resident, resident, "allocating the step's arguments") ||
         allocate(run, &run->memory.arena, arena, "allocating the arena") ||
         check(run, run->driver.stream_wait(run->stream), "clearing the device's memory");
}

uint64_t llmmem_cuda_resident(const llmmem_cuda *run) { return run->memory.resident; }
uint64_t llmmem_cuda_arena(const llmmem_cuda *run) { return run->memory.arena; }

int64_t llmmem_cuda_measured_bytes(llmmem_cuda *run) {
  size_t available, total;
  if (run->failed || check(run, run->driver.memory_info(&available, &total),
                           "asking for the device's free memory"))
    return -1;
  return (int64_t)run->device.free_at_first - (int64_t)available;
}

int llmmem_cuda_upload(llmmem_cuda *run, uint64_t to, const void *from, int64_t bytes) {
  return run->failed ||
         check(run, run->driver.upload(to, from, (size_t)bytes, run->stream),
               "copying to the device") ||
         check(run, run->driver.stream_wait(run->stream), "copying to the device");
}

int llmmem_cuda_download(llmmem_cuda *run, void *to, uint64_t from, int64_t bytes) {
  return run->failed ||
         check(run, run->driver.download(to, from, (size_t)bytes, run->stream),
               "copying from the device") ||
         check(run, run->driver.stream_wait(run->stream), "copying from the device");
}

int llmmem_cuda_fill(llmmem_cuda *run, uint64_t to, int byte, int64_t bytes) {
  return run->failed ||
         check(run, run->driver.fill(to, (unsigned char)byte, (size_t)bytes, run->stream),
               "filling the device's memory");
}

/*===----------------------------------------------------------------------===*\
|* Products
\*===----------------------------------------------------------------------===*/

int llmmem_cuda_open_products(llmmem_cuda *run, const char *library, char *message, size_t size) {
  if (run->failed) {
    snprintf(message, size, "%s", run->message);
    return 1;
  }
  run->matmuls.products = llmmem_products_open(library, message, size);
  return !run->matmuls.products;
}

llmmem_products *llmmem_cuda_products(const llmmem_cuda *run) { return run->matmuls.products; }
int64_t llmmem_cuda_failed_product(const llmmem_cuda *run) { return run->matmuls.failed; }

int llmmem_cuda_keep_algorithms(llmmem_cuda *run, const char *folder, char *message, size_t size) {
  char path[4096];
  if (llmmem_product_store_path(folder, run->device.name,
                                llmmem_products_version(run->matmuls.products), path, sizeof path,
                                message, size) ||
      llmmem_product_store_read(path, run->device.name, run->matmuls.products, message, size))
    return 1;
  free(run->matmuls.store);
  run->matmuls.store = strdup(path);
  if (!run->matmuls.store)
    snprintf(message, size, "not enough memory on the host");
  return !run->matmuls.store;
}

/* Until it is closed, no other run of this machine chooses: the first choice of a form is that of
 * all. Returns -1 after a failure. */
static int open_store(llmmem_cuda *run) {
  char why[1024];
  int lock = llmmem_product_store_lock(run->matmuls.store, why, sizeof why);
  if (lock >= 0 && llmmem_product_store_read(run->matmuls.store, run->device.name,
                                             run->matmuls.products, why, sizeof why) == 0)
    return lock;
  fail(run, "reading the algorithms of matmuls", why);
  if (lock >= 0)
    llmmem_product_store_unlock(lock);
  return -1;
}

/* It runs after a failure of the run, too, so that what was timed is not lost. */
static void close_store(llmmem_cuda *run, int lock, size_t before) {
  char why[1024];
  if (llmmem_products_count(run->matmuls.products) > before &&
      llmmem_product_store_write(run->matmuls.store, run->device.name, run->matmuls.products, why,
                                 sizeof why))
    fail(run, "writing the algorithms of matmuls", why);
  llmmem_product_store_unlock(lock);
}

static int choose(llmmem_cuda *run, const llmmem_product *product) {
  int is_new = run->matmuls.store && !llmmem_products_find(run->matmuls.products, &product->form);
  if (is_new && llmmem_cuda_tune(run, product))
    return 1;
  return llmmem_products_choose(run->matmuls.products, product);
}

int llmmem_cuda_choose_algorithm(llmmem_cuda *run, const llmmem_product *product) {
  int lock = run->failed || !run->matmuls.store ? -1 : open_store(run);
  if (run->failed)
    return 1;
  size_t before = llmmem_products_count(run->matmuls.products);
  int failed = choose(run, product);
  if (lock >= 0)
    close_store(run, lock, before);
  return failed || run->failed;
}

void llmmem_cuda_multiply(llmmem_cuda *run, const llmmem_product *product) {
  if (run->failed)
    return;
  int failed = !run->matmuls.products ||
               (run->matmuls.is_choosing
                    ? choose(run, product)
                    : llmmem_products_multiply(run->matmuls.products, product, run->stream));
  if (!failed)
    return;
  run->matmuls.failed = product->number;
  fail(run, "cuBLASLt",
       run->matmuls.products ? llmmem_products_message(run->matmuls.products)
                             : "it was not opened");
}

/*===----------------------------------------------------------------------===*\
|* Steps
\*===----------------------------------------------------------------------===*/

/* Lets the kernel be launched with this much shared memory. */
static int allow_shared_bytes(llmmem_cuda *run, Kernel *kernel, int64_t bytes) {
  if (bytes <= kernel->shared_bytes)
    return 0;
  kernel->shared_bytes = bytes;
  return check(run,
               run->driver.function_set(
                   kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
               kernel->name);
}

/* The map has two dimensions, the columns first, and boxes of 64 columns in the 128-byte swizzle.
 * */
static int encode_map(llmmem_cuda *run, const llmmem_tensor_map *map, const uint64_t *values,
                      int64_t count, CUtensorMap *encoded, const char *kernel) {
  if (map->argument < 0 || map->argument >= count || map->first_argument >= count)
    return fail(run, kernel, "a tensor map is of no argument of the launch");
  uint64_t more = map->first_argument >= 0 ? values[map->first_argument] : 0;
  uint64_t address = values[map->argument] + 2 * ((uint64_t)map->begin + more);
  uint64_t sizes[] = {(uint64_t)map->columns, (uint64_t)map->rows},
           pitches[] = {2 * (uint64_t)map->pitch};
  uint32_t box[] = {64, (uint32_t)map->box_rows}, strides[] = {1, 1};
  return check(run,
               run->driver.tensor_map_encode(
                   encoded,
                   map->is_f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                   2, (void *)(uintptr_t)address, sizes, pitches, box, strides,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               kernel);
}

void llmmem_cuda_launch(llmmem_cuda *run, int64_t number, int64_t grid_x, int64_t grid_y,
                        int64_t grid_z, int64_t block_x, int64_t block_y, int64_t block_z,
                        int64_t shared_bytes, uint64_t *values, int64_t count) {
  llmmem_cuda_launch_mapped(run, number, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                            shared_bytes, values, count, NULL, 0);
}

void llmmem_cuda_launch_mapped(llmmem_cuda *run, int64_t number, int64_t grid_x, int64_t grid_y,
                               int64_t grid_z, int64_t block_x, int64_t block_y, int64_t block_z,
                               int64_t shared_bytes, uint64_t *values, int64_t count,
                               const llmmem_tensor_map *maps, int64_t map_count) {
  if (!launches(run))
    return;
  Kernel *kernel = find_kernel(run, number);
  if (!kernel || count > MOST_ARGUMENTS || map_count > MOST_MAPS) {
    fail(run, "launching a kernel", "its number or its arguments are out of range");
    return;
  }
  void *arguments[MOST_ARGUMENTS + MOST_MAPS];
  for (int64_t k = 0; k < count; ++k)
    arguments[k] = &values[k];
  CUtensorMap encoded[MOST_MAPS]; /* The driver copies arguments. */
  for (int64_t k = 0; k < map_count; ++k) {
    if (encode_map(run, &maps[k], values, count, &encoded[k], kernel->name))
      return;
    arguments[count + k] = &encoded[k];
  }
  if (allow_shared_bytes(run, kernel, shared_bytes))
    return;
  check(run,
        run->driver.launch(kernel->function, (unsigned)grid_x, (unsigned)grid_y, (unsigned)grid_z,
                           (unsigned)block_x, (unsigned)block_y, (unsigned)block_z,
                           (unsigned)shared_bytes, run->stream, arguments, NULL),
        kernel->name);
}

void llmmem_cuda_copy(llmmem_cuda *run, uint64_t to, uint64_t from, int64_t bytes) {
  if (launches(run))
    check(run, run->driver.copy(to, from, (size_t)bytes, run->stream), "copying on the device");
}

void llmmem_cuda_choose_algorithms(llmmem_cuda *run, void (*step)(void *context), void *context) {
  if (run->failed || !run->matmuls.products)
    return;
  int lock = run->matmuls.store ? open_store(run) : -1;
  if (run->failed)
    return;
  size_t before = llmmem_products_count(run->matmuls.products);
  run->matmuls.is_choosing = 1;
  llmmem_cuda_forget_copies(run);
  step(context);
  run->matmuls.is_choosing = 0;
  if (lock >= 0)
    close_store(run, lock, before);
}

int llmmem_cuda_capture(llmmem_cuda *run, void (*step)(void *context), void *context) {
  llmmem_cuda_choose_algorithms(run, step, context);
  if (run->failed)
    return 1;
  forget_graph(run, &run->code.programs[run->code.program]);
  /* The mode is relaxed, because the driver may load a kernel at its first launch. */
  if (check(run, run->driver.capture_begin(run->stream, CU_STREAM_CAPTURE_MODE_RELAXED),
            "capturing the step"))
    return 1;
  llmmem_cuda_forget_copies(run);
  step(context);
  /* The capture ends after failures, too: a stream in capture mode can do nothing else. */
  Program *program = &run->code.programs[run->code.program];
  check(run, run->driver.capture_end(run->stream, &program->graph), "capturing the step");
  return run->failed ||
         check(run, run->driver.graph_instantiate(&program->executable, program->graph, 0),
               "making a graph of the step");
}

int llmmem_cuda_replay(llmmem_cuda *run) {
  if (run->failed)
    return 1;
  CUgraphExec executable = run->code.programs[run->code.program].executable;
  if (!executable)
    return fail(run, "running the step", "it was not captured");
  llmmem_cuda_mark(run, 0);
  if (run->failed ||
      check(run, run->driver.graph_launch(executable, run->stream), "running the step"))
    return 1;
  llmmem_cuda_mark(run, 1);
  if (run->failed || check(run, run->driver.stream_wait(run->stream), "running the step")) {
    llmmem_cuda_wait_for_host(run);
    return 1;
  }
  return llmmem_cuda_read_marks(run, &run->timing.replay_ns, 1);
}

int64_t llmmem_cuda_replay_ns(const llmmem_cuda *run) { return run->timing.replay_ns; }
