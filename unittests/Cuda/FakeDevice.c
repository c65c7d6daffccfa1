/*===- FakeDevice.c - What the fake driver says about its device ------------===*/

#include "CudaDriver.h"
#include "FakeDriver.h"
#include <stdio.h>
#include <stdlib.h>

#define FAIL_IF_ASKED(name)                                                                        \
  if (llmmem_fake_cuda_fails(#name))                                                               \
  return 999

CUresult cuDriverGetVersion(int *version) {
  FAIL_IF_ASKED(cuDriverGetVersion);
  *version = 12000;
  return 0;
}

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 218 ? "CUDA_ERROR_INVALID_PTX"
                         : "CUDA_ERROR_UNKNOWN";
  return 0;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == 2     ? "out of memory"
          : error == 218 ? "a PTX JIT compilation failed"
                         : "unknown error";
  return 0;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  FAIL_IF_ASKED(cuDeviceGet);
  *device = ordinal;
  return 0;
}

CUresult cuDeviceGetCount(int *count) {
  FAIL_IF_ASKED(cuDeviceGetCount);
  const char *text = getenv("LLMMEM_FAKE_CUDA_DEVICES");
  *count = text ? (int)strtol(text, NULL, 10) : 1;
  return 0;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  FAIL_IF_ASKED(cuDeviceGetName);
  snprintf(name, (size_t)size, "no GPU, a fake driver");
  return 0;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
  FAIL_IF_ASKED(cuDeviceGetAttribute);
  const char *text = getenv("LLMMEM_FAKE_CUDA_CAPABILITY");
  int capability = text ? (int)strtol(text, NULL, 10) : 90;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = capability / 10;
    return 0;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = capability % 10;
    return 0;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1000;
    return 0;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 2000;
    return 0;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 1;
    return 0;
  default:
    return 1; /* CUDA_ERROR_INVALID_VALUE */
  }
}

CUresult cuCtxSetCurrent(CUcontext context) {
  FAIL_IF_ASKED(cuCtxSetCurrent);
  return 0;
}
