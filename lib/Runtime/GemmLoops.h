/*===- GemmLoops.h - One blocked matrix product for each element type ------===*\
|*
|* Included once for each type, with
|*   ELEMENT, WIDE        what is stored, what is summed
|*   WIDEN(x), NARROW(x)  between the two; NARROW rounds to nearest even
|*   NAME                 the function
|*
|* Blocks of A and B are widened into packed panels on the stack; a block of C is summed over all of
`inner` before
|* it is rounded. The order of each element's sum depends on nothing but `inner` and `terms`, and no
sum is
|* reassociated or contracted, so the vector width (see target_clones) changes no bit.
|*
\*===----------------------------------------------------------------------===*/

#include "Gemm.h"
#include <string.h>

enum { kBlockRows = 64, kBlockColumns = 128, kBlockInner = 128, kTileRows = 4, kTileColumns = 16 };

typedef struct {
  WIDE a[kBlockRows][kBlockInner];
  WIDE b[kBlockInner][kBlockColumns];
  WIDE c[kBlockRows][kBlockColumns];
} Panels;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows begin_row... of op(X), columns begin_column..., into `panel`; what lies outside is 0. */
static void pack(WIDE *panel, int64_t panel_pitch, const ELEMENT *x, int64_t pitch,
                 int64_t transposed, int64_t begin_row, int64_t rows, int64_t begin_column,
                 int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    WIDE *to = panel + i * panel_pitch;
    if (transposed)
      for (int64_t j = 0; j < columns; ++j)
        to[j] = WIDEN(x[(begin_column + j) * pitch + begin_row + i]);
    else
      for (int64_t j = 0; j < columns; ++j)
        to[j] = WIDEN(x[(begin_row + i) * pitch + begin_column + j]);
    for (int64_t j = columns; j < panel_pitch; ++j)
      to[j] = 0;
  }
}

/* c[4][16] += a[4][inner] b[inner][16] */
__attribute__((target_clones("avx512f", "avx2", "default"))) static void
multiply_tile(WIDE *restrict c, const WIDE *restrict a, const WIDE *restrict b, int64_t inner) {
  WIDE sum[kTileRows][kTileColumns];
  for (int i = 0; i < kTileRows; ++i)
    for (int j = 0; j < kTileColumns; ++j)
      sum[i][j] = c[i * kBlockColumns + j];
  for (int64_t k = 0; k < inner; ++k)
    for (int i = 0; i < kTileRows; ++i)
      for (int j = 0; j < kTileColumns; ++j)
        sum[i][j] += a[i * kBlockInner + k] * b[k * kBlockColumns + j];
  for (int i = 0; i < kTileRows; ++i)
    for (int j = 0; j < kTileColumns; ++j)
      c[i * kBlockColumns + j] = sum[i][j];
}

/* Tiles reach over the edge of the block into zeros that are never stored. */
static void multiply_block(Panels *p, int64_t rows, int64_t columns, int64_t inner) {
  for (int64_t i = 0; i < rows; i += kTileRows)
    for (int64_t j = 0; j < columns; j += kTileColumns)
      multiply_tile(&p->c[i][j], &p->a[i][0], &p->b[0][j], inner);
}

static void store_block(const Panels *p, const ELEMENT *initial, int64_t initial_pitch, ELEMENT *c,
                        int64_t c_pitch, int64_t rows, int64_t columns, WIDE scale) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      WIDE value = scale * p->c[i][j];
      if (initial)
        value += WIDEN(initial[i * initial_pitch + j]);
      c[i * c_pitch + j] = NARROW(value);
    }
}

void NAME(const ELEMENT *a, int64_t a_pitch, int64_t a_transposed, const ELEMENT *b,
          int64_t b_pitch, int64_t b_transposed, const ELEMENT *initial, int64_t initial_pitch,
          ELEMENT *c, int64_t c_pitch, int64_t rows, int64_t columns, int64_t inner, int64_t terms,
          int64_t step_a, int64_t step_b, double scale) {
  Panels p;
  memset(p.a, 0, sizeof p.a);
  for (int64_t j = 0; j < columns; j += kBlockColumns) {
    int64_t width = smaller(kBlockColumns, columns - j);
    for (int64_t i = 0; i < rows; i += kBlockRows) {
      int64_t height = smaller(kBlockRows, rows - i);
      memset(p.c, 0, sizeof p.c);
      for (int64_t t = 0; t < terms; ++t)
        for (int64_t k = 0; k < inner; k += kBlockInner) {
          int64_t depth = smaller(kBlockInner, inner - k);
          pack(&p.a[0][0], kBlockInner, a + t * step_a, a_pitch, a_transposed, i, height, k, depth);
          pack(&p.b[0][0], kBlockColumns, b + t * step_b, b_pitch, b_transposed, k, depth, j,
               width);
          multiply_block(&p, height, width, depth);
        }
      store_block(&p, initial ? initial + i * initial_pitch + j : initial, initial_pitch,
                  c + i * c_pitch + j, c_pitch, height, width, (WIDE)scale);
    }
  }
}
