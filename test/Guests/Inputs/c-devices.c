/* Every error of include/llmmem-c/Devices.h, and what it gives where there is none. Prints the
 * number of checks; exits 1 with the line of the first that fails. The argument is a folder. */

#include "check.h"
#include "llmmem-c/Devices.h"

static const llmmem_device *load(const char *name) {
  const llmmem_device *device = NULL;
  char *error = (char *)"unset";
  CHECK(llmmem_load_device(name, &device, &error) == LLMMEM_OK);
  CHECK(error == NULL && device->size == sizeof(llmmem_device) && device->source[0] &&
        device->json[0] == '{');
  return device;
}

static int64_t time_of(const llmmem_device *device, int32_t numbers, int64_t flops, int64_t bytes) {
  int64_t ns = -1;
  CHECK(llmmem_kernel_time(device, numbers, flops, bytes, &ns, NULL) == LLMMEM_OK);
  return ns;
}

/* The names go on to the first NULL, and each is that of a table. */
static void names(void) {
  int64_t count = 0;
  for (const char *name; (name = llmmem_device_name(count)); ++count) {
    const llmmem_device *device = load(name);
    CHECK(!strcmp(device->name, name));
    llmmem_free_device(device);
  }
  CHECK(count >= 17 && !strcmp(llmmem_device_name(0), "h100"));
  CHECK(llmmem_device_name(count + 1) == NULL && llmmem_device_name(-1) == NULL);
}

/* The longer of arithmetic and traffic, rounded up, and a launch; each type by its own rate. */
static void times(void) {
  const llmmem_device *device = load("h100");
  CHECK(device->multiprocessors > 0 && device->block_shared_bytes > 48 << 10 &&
        device->l2_bytes > 0 && device->memory_bytes > device->reserve_bytes);
  CHECK(time_of(device, LLMMEM_BF16, INT64_C(2) * 8192 * 4096 * 4096, 0) == 279936);
  CHECK(time_of(device, LLMMEM_F32, device->flops_per_ns_f32 * 5 + 1, 0) == 6 + device->launch_ns);
  CHECK(time_of(device, LLMMEM_F64, device->flops_per_ns_f64 * 5, 0) == 5 + device->launch_ns);
  CHECK(time_of(device, LLMMEM_F64, 1, device->bytes_per_ns * 9 - 1) == 9 + device->launch_ns);
  CHECK(time_of(device, LLMMEM_F32, INT64_MAX, INT64_MAX) > 0);
  llmmem_free_device(device);
}

/* A table of one's own, in C and in a file. */
static void own_tables(const char *folder) {
  llmmem_device own = LLMMEM_INIT(llmmem_device);
  own.flops_per_ns_f32 = own.flops_per_ns_bf16 = own.flops_per_ns_f64 = 10;
  own.bytes_per_ns = 2;
  CHECK(time_of(&own, LLMMEM_F32, 100, 30) == 15);
  char path[1000];
  snprintf(path, sizeof path, "%s/own.json", folder);
  const llmmem_device *device = load(path);
  CHECK(device->multiprocessors == 0 && time_of(device, LLMMEM_F32, 100, 30) == 15 + 7);
  llmmem_free_device(device);
  snprintf(path, sizeof path, "%s/wrong.json", folder);
  FAILS(LLMMEM_INVALID, "unknown key 'flops'", llmmem_load_device(path, &device, error));
}

static void errors(void) {
  const llmmem_device *device;
  int64_t ns;
  llmmem_device own = LLMMEM_INIT(llmmem_device);
  FAILS(LLMMEM_INVALID, "unknown device 'tpu'; expected one of h100",
        llmmem_load_device("tpu", &device, error));
  FAILS(LLMMEM_INVALID, "name_or_file: is NULL", llmmem_load_device(NULL, &device, error));
  FAILS(LLMMEM_INVALID, "device: is NULL", llmmem_load_device("h100", NULL, error));
  FAILS(LLMMEM_INVALID, "device: is NULL", llmmem_kernel_time(NULL, 0, 1, 1, &ns, error));
  FAILS(LLMMEM_INVALID, "flops_per_ns_f32: is 0; expected a positive number",
        llmmem_kernel_time(&own, 0, 1, 1, &ns, error));
  own.flops_per_ns_f32 = own.flops_per_ns_bf16 = own.flops_per_ns_f64 = own.bytes_per_ns = 1;
  FAILS(LLMMEM_INVALID, "numbers: is 3; expected LLMMEM_F32",
        llmmem_kernel_time(&own, 3, 1, 1, &ns, error));
  FAILS(LLMMEM_INVALID, "flops: must not be negative",
        llmmem_kernel_time(&own, 0, -1, 1, &ns, error));
  FAILS(LLMMEM_INVALID, "bytes: must not be negative",
        llmmem_kernel_time(&own, 0, 1, -1, &ns, error));
  FAILS(LLMMEM_INVALID, "ns: is NULL", llmmem_kernel_time(&own, 0, 1, 1, NULL, error));
  own.launch_ns = -1;
  FAILS(LLMMEM_INVALID, "launch_ns: must not be negative",
        llmmem_kernel_time(&own, 0, 1, 1, &ns, error));
  own.size = 8;
  FAILS(LLMMEM_INVALID, "initialise it with LLMMEM_INIT",
        llmmem_kernel_time(&own, 0, 1, 1, &ns, error));
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  names();
  times();
  own_tables(argv[1]);
  errors();
  llmmem_free_device(NULL);
  printf("%d checks\n", checks);
  return 0;
}
