/*===- ProductStore.h - Algorithms of matmuls, kept for all runs ------------===*\
|*
|* A store is a text file for each device and version of cuBLASLt, in a folder that the user names:
|*
|*   llmmem-product-algorithms 2
|*   device NVIDIA H200
|*   library 130100
|*   product 128 96 64 1 1 64 0 0 256 ... 4096 ns 12345 data 00000000000000a1 ...
|*   end 1
|*
|* A product has the 27 words of its form, in the order of llmmem_product_form; the nanoseconds
|* that it took when its algorithm was chosen (0: it was not timed); and the 8 opaque words of the
|* algorithm, in hexadecimal digits. `end` says how many there are.
|*
|* Functions return 0, or 1 with the reason in `message`.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_PRODUCTSTORE_H
#define LLMMEM_RUNTIME_PRODUCTSTORE_H

#include "llmmem/Runtime/CudaProducts.h"

LLMMEM_EXTERN_C_BEGIN

/* Writes "FOLDER/NVIDIA-H200.cublasLt-13.1.0.algorithms", for example. Creates the folder where it
 * is missing. */
int llmmem_product_store_path(const char *folder, const char *device, int64_t version, char *path,
                              size_t path_size, char *message, size_t size);

/* Gives `products` the algorithms of the file for forms without one. A missing file has none.
 * Refuses a file of another device or version, and an incomplete one, and then gives nothing. */
int llmmem_product_store_read(const char *path, const char *device, llmmem_products *products,
                              char *message, size_t size);
/* Writes all algorithms under another name, and renames that file to `path` once it is complete. */
int llmmem_product_store_write(const char *path, const char *device,
                               const llmmem_products *products, char *message, size_t size);

/* Waits until no other process holds the lock of `path`. Returns -1, with the reason in `message`,
 * where its folder cannot be written. */
int llmmem_product_store_lock(const char *path, char *message, size_t size);
void llmmem_product_store_unlock(int lock);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_PRODUCTSTORE_H */
