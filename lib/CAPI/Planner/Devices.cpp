//===- Devices.cpp - Device tables as plain structures --------------------------===//

#include "llmmem-c/Devices.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Device/DeviceModel.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using namespace llmmem::capi;

namespace {
/// Holds a device and the texts to which it points.
struct OwnedDevice : llmmem_device {
  explicit OwnedDevice(const DeviceModel &model)
      : llmmem_device(LLMMEM_INIT(llmmem_device)), nameText(model.name), sourceText(model.source),
        jsonText(llvm::formatv("{0:2}", model.toJson()).str()) {
    name = nameText.c_str();
    source = sourceText.c_str();
    json = jsonText.c_str();
    flops_per_ns_f32 = model.flopsPerNsF32;
    flops_per_ns_bf16 = model.flopsPerNsBF16;
    flops_per_ns_f64 = model.flopsPerNsF64;
    bytes_per_ns = model.bytesPerNs;
    launch_ns = model.launchNs;
    memory_bytes = model.memoryBytes;
    reserve_bytes = model.reserveBytes;
    if (model.gpu) {
      multiprocessors = model.gpu->multiprocessors;
      block_shared_bytes = model.gpu->blockSharedBytes;
      l2_bytes = model.gpu->l2Bytes;
    }
  }

  std::string nameText, sourceText, jsonText;
};
} // namespace

const char *llmmem_device_name(int64_t number) {
  llvm::ArrayRef<DeviceModel> devices = shippedDevices();
  return number >= 0 && static_cast<size_t>(number) < devices.size() ? devices[number].name.c_str()
                                                                     : nullptr;
}

llmmem_result llmmem_load_device(const char *nameOrFile, const llmmem_device **device,
                                 char **error) {
  clear(error);
  if (!nameOrFile || !device)
    return invalid(error, std::string(!nameOrFile ? "name_or_file" : "device") + ": is NULL");
  llvm::Expected<DeviceModel> model = loadDeviceModel(nameOrFile);
  if (!model)
    return invalid(error, llvm::toString(model.takeError()));
  *device = new OwnedDevice(*model);
  return LLMMEM_OK;
}

void llmmem_free_device(const llmmem_device *device) {
  delete static_cast<const OwnedDevice *>(device);
}

/// Returns the parts of a table on which times depend, or what is wrong with the table.
static Result<DeviceModel> modelOf(const llmmem_device &given) {
  DeviceModel model;
  model.flopsPerNsF32 = given.flops_per_ns_f32;
  model.flopsPerNsBF16 = given.flops_per_ns_bf16;
  model.flopsPerNsF64 = given.flops_per_ns_f64;
  model.bytesPerNs = given.bytes_per_ns;
  model.launchNs = given.launch_ns;
  for (auto [rate, name] : {std::pair(model.flopsPerNsF32, "flops_per_ns_f32"),
                            std::pair(model.flopsPerNsBF16, "flops_per_ns_bf16"),
                            std::pair(model.flopsPerNsF64, "flops_per_ns_f64"),
                            std::pair(model.bytesPerNs, "bytes_per_ns")})
    if (rate <= 0)
      return Failure{std::string(name) + ": is " + std::to_string(rate) +
                     "; expected a positive number"};
  if (model.launchNs < 0)
    return Failure{"launch_ns: must not be negative"};
  return model;
}

llmmem_result llmmem_kernel_time(const llmmem_device *device, int32_t numbers, int64_t flops,
                                 int64_t bytes, int64_t *ns, char **error) {
  clear(error);
  Result<llmmem_device> given = take(device, "device");
  if (!given)
    return invalid(error, given.error());
  Result<DeviceModel> model = modelOf(*given);
  if (!model)
    return invalid(error, model.error());
  static constexpr NumberFormat formats[] = {NumberFormat::F32, NumberFormat::BF16,
                                             NumberFormat::F64};
  if (numbers < 0 || numbers > LLMMEM_F64)
    return invalid(error, "numbers: is " + std::to_string(numbers) +
                              "; expected LLMMEM_F32, LLMMEM_BF16 or LLMMEM_F64");
  if (flops < 0 || bytes < 0)
    return invalid(error, std::string(flops < 0 ? "flops" : "bytes") + ": must not be negative");
  if (!ns)
    return invalid(error, "ns: is NULL");
  *ns = model->time(flops, bytes, formats[numbers]);
  return LLMMEM_OK;
}
