/*===- FakeArguments.c - What kernels of the fake driver are given -----------===*/

#include "CudaDriver.h"
#include "FakeDriver.h"
#include <stdio.h>
#include <string.h>

int llmmem_fake_cuda_width(const char *parameter) {
  if (strstr(parameter, "[128]"))
    return sizeof(CUtensorMap);
  static const struct {
    const char *type;
    int bytes;
  } types[] = {{".u64", 8}, {".b64", 8}, {".s64", 8}, {".f64", 8}, {".u32", 4}, {".b32", 4},
               {".s32", 4}, {".f32", 4}, {".u16", 2}, {".b16", 2}, {".u8", 1},  {".b8", 1}};
  for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
    if (strstr(parameter, types[k].type))
      return types[k].bytes;
  return 8;
}

/* What an encoded map says here; a driver's has another form. */
typedef struct {
  uint64_t address, sizes[2], pitch;
  uint32_t box[2];
  int32_t type, swizzle;
} FakeMap;

const char *llmmem_fake_cuda_map(const void *argument, char *text, size_t size) {
  FakeMap map;
  char at[64];
  memcpy(&map, argument, sizeof map);
  snprintf(text, size,
           "map of type %d at %s: %llu rows of %llu, %llu bytes apart, boxes of %u x %u", map.type,
           llmmem_fake_cuda_place(map.address, at, sizeof at), (unsigned long long)map.sizes[1],
           (unsigned long long)map.sizes[0], (unsigned long long)map.pitch, map.box[1], map.box[0]);
  return text;
}

/* Refuses what the driver refuses (CUDA Driver API, "Tensor Map Object Management"). */
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, uint32_t rank, void *address,
                                const uint64_t *sizes, const uint64_t *pitches, const uint32_t *box,
                                const uint32_t *strides, int interleave, int swizzle, int promotion,
                                int fill) {
  if (llmmem_fake_cuda_fails("cuTensorMapEncodeTiled"))
    return 999;
  uint64_t begin = (uint64_t)(uintptr_t)address, most = (uint64_t)1 << 32;
  int is_half = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  if ((uintptr_t)map % 64 != 0 || rank != 2 || !is_half || begin % 16 != 0 ||
      pitches[0] % 16 != 0 || pitches[0] >= most << 8 || interleave != 0 || fill != 0 ||
      promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return 1; /* CUDA_ERROR_INVALID_VALUE */
  for (int k = 0; k < 2; ++k)
    if (sizes[k] < 1 || sizes[k] > most || box[k] < 1 || box[k] > 256 || strides[k] != 1)
      return 1;
  if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B && box[0] * 2 > 128)
    return 1;
  FakeMap said = {begin, {sizes[0], sizes[1]}, pitches[0], {box[0], box[1]}, type, swizzle};
  memset(map, 0, sizeof *map);
  memcpy(map, &said, sizeof said);
  return 0;
}
