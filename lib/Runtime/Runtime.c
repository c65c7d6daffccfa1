/*===- Runtime.c - What compiled steps and their drivers call --------------===*/

#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "llmmem/Runtime/Runtime.h"
#include "llmmem/Runtime/Parallel.h"
#include <string.h>
#include <time.h>

void llmmem_fill_dead(void *bytes, int64_t count) { memset(bytes, 0xFF, (size_t)count); }

typedef struct {
  const char *from;
  char *to;
  int64_t from_stride, to_stride, bytes, pieces, piece; /* Those of a row. */
} Rows;

static void copy_pieces(void *context, int64_t begin, int64_t end) {
  const Rows *rows = context;
  for (int64_t number = begin; number < end; ++number) {
    int64_t row = number / rows->pieces, first = number % rows->pieces * rows->piece;
    int64_t left = rows->bytes - first;
    memcpy(rows->to + row * rows->to_stride + first, rows->from + row * rows->from_stride + first,
           (size_t)(left < rows->piece ? left : rows->piece));
  }
}

void llmmem_copy_rows(const void *from, int64_t from_stride, void *to, int64_t to_stride,
                      int64_t rows, int64_t bytes) {
  /* This takes longer than waking a thread, which is some 10 microseconds. */
  const int64_t kPiece = 256 << 10;
  Rows all = {from, to, from_stride, to_stride, bytes, (bytes + kPiece - 1) / kPiece, kPiece};
  if (rows * bytes <= kPiece)
    copy_pieces(&all, 0, rows * all.pieces);
  else
    llmmem_parallel_for(rows * all.pieces, copy_pieces, &all);
}

int64_t llmmem_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
