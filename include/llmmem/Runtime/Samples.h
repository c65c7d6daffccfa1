/*===- Samples.h - Random numbers by their place ----------------------------===*\
|*
|* A number is a function of its stream and its counter alone. So any part of a tensor can be
|* sampled by itself, in any order and by any number of threads.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_SAMPLES_H
#define LLMMEM_RUNTIME_SAMPLES_H

#include "llmmem/Runtime/ExternC.h"
#include <stddef.h>
#include <stdint.h>

LLMMEM_EXTERN_C_BEGIN

/* Returns the stream of samples without a name. Streams of different seeds are independent. The
 * stream of a name is this one exclusive-or the hash of the name. */
uint64_t llmmem_sample_stream(uint64_t seed);
/* Returns 64 random bits. */
uint64_t llmmem_sample_word(uint64_t stream, uint64_t counter);
/* Returns a number in (0, 1). */
double llmmem_sample_uniform(uint64_t stream, uint64_t counter);
/* Returns a normal number with mean 0 and variance 1. */
double llmmem_sample_normal(uint64_t stream, uint64_t counter);
/* Returns the argument at which the standard normal distribution is `p`, to seven digits. */
double llmmem_normal_quantile(double p);

/* Returns 64 bits that distinguish contents. It is no cryptographic hash. */
uint64_t llmmem_content_hash(const void *bytes, size_t size);
/* Extends the hash `before` by these bytes. The result depends on the sizes of the pieces. */
uint64_t llmmem_content_hash_from(uint64_t before, const void *bytes, size_t size);

LLMMEM_EXTERN_C_END

#endif /* LLMMEM_RUNTIME_SAMPLES_H */
