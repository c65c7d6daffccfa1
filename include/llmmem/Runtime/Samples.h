/*===- Samples.h - Random numbers by their place ----------------------------===*\
|*
|* A number is a function of its stream and its counter alone, so that any part of a tensor is
|* sampled by itself, in any order and by any number of threads.
|*
\*===----------------------------------------------------------------------===*/

#ifndef LLMMEM_RUNTIME_SAMPLES_H
#define LLMMEM_RUNTIME_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of what has no name: streams of other seeds are independent. The stream of a name is this one
 * exclusive-or the hash of the name. */
uint64_t llmmem_sample_stream(uint64_t seed);
/* 64 random bits. */
uint64_t llmmem_sample_word(uint64_t stream, uint64_t counter);
/* In (0, 1). */
double llmmem_sample_uniform(uint64_t stream, uint64_t counter);
/* Of mean 0 and variance 1. */
double llmmem_sample_normal(uint64_t stream, uint64_t counter);
/* The argument at which the standard normal distribution is `p`, to seven digits. */
double llmmem_normal_quantile(double p);

/* 64 bits that tell contents apart, not a cryptographic hash. */
uint64_t llmmem_content_hash(const void *bytes, size_t size);
/* The hash of what `before` is the hash of, followed by these bytes, in pieces of the same sizes.
 */
uint64_t llmmem_content_hash_from(uint64_t before, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* LLMMEM_RUNTIME_SAMPLES_H */
