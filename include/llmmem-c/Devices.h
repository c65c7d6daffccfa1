/*===- Devices.h - Device tables, and what a kernel takes by them ------------===*
 *
 * A device's table states its rates, bandwidth, memory and geometry; lib/Device/Tables has those
 * that come with the library, and its README their sources. include/llmmem/Device/DeviceModel.h has
 * the form of a table of one's own, a file that ends in .json.
 *
 * Example: a product of 2 * 8192 * 4096 * 4096 FLOPs in bf16 takes 279,936 ns on an H100.
 *
 *   const llmmem_device *device;
 *   char *error;
 *   if (llmmem_load_device("h100", &device, &error) != LLMMEM_OK)
 *     fprintf(stderr, "%s\n", error), llmmem_free_text(error);
 *   int64_t ns;
 *   llmmem_kernel_time(device, LLMMEM_BF16, INT64_C(274877906944), 0, &ns, &error);
 *   llmmem_free_device(device);
 *
 *===----------------------------------------------------------------------===*/

#ifndef LLMMEM_C_DEVICES_H
#define LLMMEM_C_DEVICES_H

#include "llmmem-c/Base.h"

LLMMEM_C_BEGIN

/* These are the numbers that a kernel multiplies. f16 has the rate of bf16. */
enum { LLMMEM_F32 = 0, LLMMEM_BF16 = 1, LLMMEM_F64 = 2 };

/* Holds what a table says; a number is 0 where the table does not say it. It has many fields
 * because each is a key of a table. */
typedef struct llmmem_device {
  size_t size;
  const char *name;
  const char *source; /* where the numbers come from */
  int64_t flops_per_ns_f32;
  int64_t flops_per_ns_bf16;
  int64_t flops_per_ns_f64;
  int64_t bytes_per_ns;
  int64_t launch_ns;          /* of each kernel, in addition to its work */
  int64_t memory_bytes;       /* of the device */
  int64_t reserve_bytes;      /* of them, what no step may use */
  int64_t multiprocessors;    /* of a GPU */
  int64_t block_shared_bytes; /* shared memory that one block of threads may have */
  int64_t l2_bytes;           /* of the second-level cache */
  const char *json;           /* the whole table, as llmmem-opt --print-device-table prints it */
} llmmem_device;

/* Returns the name of a table that comes with the library, by its number from 0 up; NULL where
 * there are no more. The name is never freed. */
LLMMEM_C_EXPORT const char *llmmem_device_name(int64_t number);

/* Loads the table of that name, or in that file. Returns LLMMEM_INVALID where there is none, with
 * the known names, or where a file is wrong, with the line and what was expected there. The caller
 * frees the device with llmmem_free_device. */
LLMMEM_C_EXPORT llmmem_result llmmem_load_device(const char *name_or_file,
                                                 const llmmem_device **device, char **error);
LLMMEM_C_EXPORT void llmmem_free_device(const llmmem_device *device);

/* Gives the modelled ns of a kernel that does `flops` on such numbers and moves `bytes`: the longer
 * of both, rounded up, and a launch. */
LLMMEM_C_EXPORT llmmem_result llmmem_kernel_time(const llmmem_device *device, int32_t numbers,
                                                 int64_t flops, int64_t bytes, int64_t *ns,
                                                 char **error);

LLMMEM_C_END

#endif /* LLMMEM_C_DEVICES_H */
