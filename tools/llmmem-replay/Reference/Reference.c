/*===- Reference.c - Products in float64 ------------------------------------===*/

#include "Reference/Reference.h"
#include "Bundle/Fill.h"
#include "llmmem/Runtime/Samples.h"
#include <math.h>

static int64_t width_of(int64_t type) { return type == LLMMEM_PRODUCT_BF16 ? 2 : 4; }

static double element(const void *bytes, int64_t type, int64_t index) {
  return read_number(type == LLMMEM_PRODUCT_BF16 ? TYPE_BF16 : TYPE_F32,
                     (const char *)bytes + index * width_of(type));
}

int64_t matrix_bytes(const llmmem_matrix_form *matrix, int64_t rows, int64_t columns,
                     int64_t batch) {
  int64_t lines = matrix->transposed ? columns : rows, line = matrix->transposed ? rows : columns;
  return ((batch - 1) * matrix->stride + (lines - 1) * matrix->pitch + line) *
         width_of(matrix->type);
}

static double matrix_element(const void *bytes, const llmmem_matrix_form *matrix, int64_t number,
                             int64_t row, int64_t column) {
  int64_t index = matrix->transposed ? column * matrix->pitch + row : row * matrix->pitch + column;
  return element(bytes, matrix->type, number * matrix->stride + index);
}

/* The form with the hyperbolic tangent, as cuBLASLt's epilogues and llm.gelu have it. */
static double gelu(double x) {
  return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_slope(double x) {
  double inner = 0.7978845608028654 * (x + 0.044715 * x * x * x), t = tanh(inner);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

typedef struct {
  double value, magnitude; /* the sum of the terms' magnitudes, which rounding is in parts of */
} Sum;

static Sum product_at(const Form *form, const Operands *operands, int64_t number, int64_t row,
                      int64_t column) {
  const llmmem_product_form *shape = &form->form;
  Sum sum = {0, 0};
  for (int64_t k = 0; k < shape->inner; ++k) {
    double term = matrix_element(operands->a, &shape->a, number, row, k) *
                  matrix_element(operands->b, &shape->b, number, k, column);
    sum.value += term;
    sum.magnitude += fabs(term);
  }
  sum.value *= form->alpha;
  sum.magnitude *= fabs(form->alpha);
  if (operands->initial) {
    double initial = matrix_element(operands->initial, &shape->initial, number, row, column);
    sum.value += initial;
    sum.magnitude += fabs(initial);
  }
  return sum;
}

static Sum expected_at(const Form *form, const Operands *operands, int64_t number, int64_t row,
                       int64_t column) {
  const llmmem_product_form *shape = &form->form;
  Sum sum = product_at(form, operands, number, row, column);
  int64_t epilogue = shape->epilogue;
  int is_biased = epilogue == LLMMEM_EPILOGUE_BIAS || epilogue == LLMMEM_EPILOGUE_GELU_BIAS ||
                  epilogue == LLMMEM_EPILOGUE_GELU_AUX_BIAS;
  if (is_biased && operands->bias)
    sum.value += element(operands->bias, shape->c.type, column);
  if (epilogue == LLMMEM_EPILOGUE_GELU_BIAS || epilogue == LLMMEM_EPILOGUE_GELU_AUX_BIAS)
    sum.value = gelu(sum.value);
  if ((epilogue == LLMMEM_EPILOGUE_DGELU || epilogue == LLMMEM_EPILOGUE_DGELU_BGRAD) &&
      operands->aux) {
    double slope =
        gelu_slope(element(operands->aux, shape->c.type, row * shape->aux_pitch + column));
    sum.value *= slope;
    sum.magnitude *= fabs(slope);
  }
  return sum;
}

double worst_error(const Form *form, const Operands *operands, int64_t count, uint64_t stream) {
  const llmmem_product_form *shape = &form->form;
  /* Half a unit in the last place of bf16 is 2^-9 of a number at most. An activation may round
   * twice, before and after, as generated kernels do. */
  double rounding = shape->c.type == LLMMEM_PRODUCT_BF16 ? 0x1p-7 : 0x1p-22, worst = 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t number =
                (int64_t)(llmmem_sample_word(stream, 3 * (uint64_t)k) % (uint64_t)shape->batch),
            row =
                (int64_t)(llmmem_sample_word(stream, 3 * (uint64_t)k + 1) % (uint64_t)shape->rows),
            column = (int64_t)(llmmem_sample_word(stream, 3 * (uint64_t)k + 2) %
                               (uint64_t)shape->columns);
    Sum expected = expected_at(form, operands, number, row, column);
    double found = matrix_element(operands->c, &shape->c, number, row, column);
    double allowed = rounding * fabs(expected.value) + 1e-5 * expected.magnitude + 1e-30;
    double error = fabs(found - expected.value) / allowed;
    /* A NaN is worse than any number. */
    worst = error > worst ? error : isnan(error) ? INFINITY : worst;
  }
  return worst;
}
