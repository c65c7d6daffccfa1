/*===- ProductParts.c - Threads for a library's matmuls ---------------------===*/

#include "ProductParts.h"
#include "llmmem/Runtime/Parallel.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

/*===----------------------------------------------------------------------===*\
|* OpenMP
\*===----------------------------------------------------------------------===*/

typedef struct {
  int (*max_threads)(void);
  void (*set_threads)(int);
} OpenMP;

static OpenMP openmp;

void llmmem_use_openmp_of(void *library) {
  /* ISO C has no conversion from an object pointer to a function's. */
  *(void **)&openmp.max_threads = dlsym(library, "omp_get_max_threads");
  *(void **)&openmp.set_threads = dlsym(library, "omp_set_num_threads");
}

/* The number belongs to the calling thread. Returns the previous one, or 0 without OpenMP. */
static int change_openmp_threads(int count) {
  if (!openmp.max_threads || !openmp.set_threads || count < 1)
    return 0;
  int before = openmp.max_threads();
  openmp.set_threads(count);
  return before;
}

/*===----------------------------------------------------------------------===*\
|* Parts
\*===----------------------------------------------------------------------===*/

enum {
  /* In larger parts oneDNN is no faster; below the smallest it copies more than it computes. */
  kMostRows = 256,
  kMostColumns = 768,
  kLeastRows = 64,
  kLeastColumns = 96,
  kPartsPerThread = 2,
  /* Parts consist of whole tiles of oneDNN's kernels, except for the last. */
  kRowTile = 8,
  kColumnTile = 48,
};

typedef struct {
  llmmem_multiply_part *multiply;
  void *context;
  int64_t rows, columns;           /* Those of C. */
  int64_t part_rows, part_columns; /* Those of each part except the last. */
  int64_t down, across;
} Parts;

static int64_t divide_up(int64_t count, int64_t by) { return (count + by - 1) / by; }

/* Makes parts of nearly one size, none larger than the limits. */
static void cover(Parts *parts, int64_t most_rows, int64_t most_columns) {
  int64_t down = divide_up(parts->rows, most_rows),
          across = divide_up(parts->columns, most_columns);
  parts->part_rows = divide_up(divide_up(parts->rows, down), kRowTile) * kRowTile;
  parts->part_columns = divide_up(divide_up(parts->columns, across), kColumnTile) * kColumnTile;
  parts->down = divide_up(parts->rows, parts->part_rows);
  parts->across = divide_up(parts->columns, parts->part_columns);
}

static void divide(Parts *parts, int threads) {
  int64_t most_rows = kMostRows, most_columns = kMostColumns;
  for (;;) {
    cover(parts, most_rows, most_columns);
    bool is_small = most_rows <= kLeastRows && most_columns <= kLeastColumns;
    if (is_small || parts->down * parts->across >= kPartsPerThread * (int64_t)threads)
      return;
    if (most_columns >= 2 * most_rows || most_rows <= kLeastRows)
      most_columns /= 2;
    else
      most_rows /= 2;
  }
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void multiply_parts(void *context, int64_t begin, int64_t end) {
  const Parts *parts = context;
  int before = change_openmp_threads(1);
  for (int64_t number = begin; number < end; ++number) {
    int64_t row = number % parts->down * parts->part_rows,
            column = number / parts->down * parts->part_columns;
    llmmem_part part = {row, smaller(parts->part_rows, parts->rows - row), column,
                        smaller(parts->part_columns, parts->columns - column)};
    parts->multiply(parts->context, &part);
  }
  change_openmp_threads(before);
}

void llmmem_for_product_parts(int64_t rows, int64_t columns, llmmem_multiply_part *multiply,
                              void *context) {
  if (rows < 1 || columns < 1)
    return;
  Parts parts = {.multiply = multiply, .context = context, .rows = rows, .columns = columns};
  divide(&parts, llmmem_threads());
  llmmem_parallel_for(parts.down * parts.across, multiply_parts, &parts);
}
