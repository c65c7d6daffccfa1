/*===- FakeDriver.h - What a fake library asks of the fake driver -----------===*/

#ifndef LLMMEM_UNITTESTS_CUDA_FAKEDRIVER_H
#define LLMMEM_UNITTESTS_CUDA_FAKEDRIVER_H

#include <stddef.h>
#include <stdint.h>

/* A line of the driver's log. */
void llmmem_fake_cuda_note(const char *format, ...);
/* Whether a call of `name` is the one that the environment asks to fail: NAME:2 in `variable` is
 * the second of NAME. `calls` counts those. */
int llmmem_fake_cuda_must_fail(const char *variable, const char *name, int *calls);
/* The same of the driver's own calls, whose variable is LLMMEM_FAKE_CUDA_FAIL. */
int llmmem_fake_cuda_fails(const char *name);
/* A1+256, or 0x1234 for what lies in no allocation. */
const char *llmmem_fake_cuda_place(uint64_t address, char *text, size_t size);
/* The bytes of a parameter as PTX declares it: `.param .u64 .ptr .align 1 name`, or of a tensor map
 * `.param .align 64 .b8 name[128]`. */
int llmmem_fake_cuda_width(const char *parameter);
/* What an encoded tensor map says. */
const char *llmmem_fake_cuda_map(const void *argument, char *text, size_t size);
/* " on stream 1"; empty for the first stream that was made. */
const char *llmmem_fake_cuda_stream(void *stream);
/* From 0, in the order in which they were made. */
int llmmem_fake_cuda_stream_number(void *stream);
/* " contents " and a hash, where LLMMEM_FAKE_CUDA_CONTENTS asks for it; else empty. */
const char *llmmem_fake_cuda_contents(const void *bytes, size_t size);
/* Whether work now becomes a node of a graph, */
int llmmem_fake_cuda_is_capturing(void);
/* which every replay runs. 1 where the graph is full. */
int llmmem_fake_cuda_node(void (*run)(void *context), void *context);
/* What LLMMEM_FAKE_CUDA_NS says about `name`. */
int64_t llmmem_fake_cuda_ns(const char *name);
/* Runs the host functions of a stream, or of all (null), that were launched outside of a capture
 * and that nothing has waited for. */
void llmmem_fake_cuda_run_late(const void *stream);
/* Lets pass what LLMMEM_FAKE_CUDA_NS says about `name`, now or in each replay. */
void llmmem_fake_cuda_take_time(const char *name);

#endif /* LLMMEM_UNITTESTS_CUDA_FAKEDRIVER_H */
