//===- DeviceModel.cpp - Device tables -------------------------------------===//

#include "llmmem/Analysis/DeviceModel.h"
#include "llmmem/Planning/TextFile.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace llvm;
using namespace llmmem;

// Dense rates and bandwidths of the vendors' datasheets (SXM parts); a launch inside a captured
// graph takes about two microseconds. `cpu` is two cores with AVX-512 as this project measures
// itself on.
static constexpr StringLiteral shippedTables[] = {
    R"({"name": "h100", "source": "NVIDIA H100 SXM datasheet",
        "flops_per_ns": {"bf16": 989000, "f32": 67000, "f64": 34000}, "bytes_per_ns": 3350, "launch_ns": 2000})",
    R"({"name": "h200", "source": "NVIDIA H200 SXM datasheet",
        "flops_per_ns": {"bf16": 989000, "f32": 67000, "f64": 34000}, "bytes_per_ns": 4800, "launch_ns": 2000})",
    R"({"name": "a100", "source": "NVIDIA A100 80GB SXM datasheet",
        "flops_per_ns": {"bf16": 312000, "f32": 19500, "f64": 9700}, "bytes_per_ns": 2039, "launch_ns": 2000})",
    R"({"name": "cpu", "source": "benchmarks/calibrate_cpu.py on two cores of an AMD EPYC with AVX-512",
        "flops_per_ns": {"bf16": 313, "f32": 388, "f64": 134}, "bytes_per_ns": 57, "launch_ns": 1000})"};

int64_t DeviceModel::time(int64_t flops, int64_t bytes, mlir::Type elementType,
                          StringRef kernel) const {
  int64_t rate = flopsPerNsF32;
  if (elementType && elementType.isF64())
    rate = flopsPerNsF64;
  else if (elementType && elementType.isBF16())
    rate = flopsPerNsBF16;
  int64_t busy =
      std::max(flops / rate + (flops % rate != 0), bytes / bytesPerNs + (bytes % bytesPerNs != 0));
  if (auto known = permilleOfKernels.find(kernel); known != permilleOfKernels.end()) {
    __int128 scaled = (static_cast<__int128>(busy) * known->second + 999) / 1000;
    busy = scaled > INT64_MAX ? INT64_MAX : static_cast<int64_t>(scaled);
  }
  return busy > INT64_MAX - launchNs ? INT64_MAX : busy + launchNs;
}

static Expected<int64_t> positive(const json::Object &object, StringRef key, StringRef where) {
  std::optional<int64_t> number = object.getInteger(key);
  if (!number || *number <= 0)
    return createStringError(
        formatv("{0}: device table needs '{1}', a positive integer", where, key));
  return *number;
}

/// `"kernels": {"attention": 3.25}`, to three decimals.
static Error readKernels(const json::Object &object, DeviceModel &model, StringRef where) {
  const json::Value *value = object.get("kernels");
  if (!value)
    return Error::success();
  const json::Object *kernels = value->getAsObject();
  if (!kernels)
    return createStringError(formatv("{0}: 'kernels' is no object", where));
  for (const auto &[kind, factor] : *kernels) {
    std::optional<double> times = factor.getAsNumber();
    // A thousandth is the finest that is kept, a million times the roofline is no measurement.
    if (!times || !(*times >= 1e-3 && *times <= 1e6))
      return createStringError(
          formatv("{0}: device table has the kernel '{1}', which needs a number "
                  "of times its roofline, 0.001 to 1000000",
                  where, kind.str()));
    model.permilleOfKernels[kind.str()] = std::llround(*times * 1000);
  }
  return Error::success();
}

static Expected<DeviceModel> parseDeviceModel(StringRef text, StringRef where) {
  Expected<json::Value> value = json::parse(text);
  if (!value)
    return createStringError(formatv("{0}: not JSON: {1}", where, toString(value.takeError())));
  const json::Object *object = value->getAsObject();
  const json::Object *rates = object ? object->getObject("flops_per_ns") : nullptr;
  if (!rates)
    return createStringError(
        formatv("{0}: device table needs 'flops_per_ns' with 'bf16', 'f32' and 'f64'", where));
  DeviceModel model;
  model.name = object->getString("name").value_or(where).str();
  model.source = object->getString("source").value_or("").str();
  model.launchNs = object->getInteger("launch_ns").value_or(0);
  if (model.launchNs < 0)
    return createStringError(formatv("{0}: 'launch_ns' is negative", where));
  std::pair<int64_t *, Expected<int64_t>> fields[] = {
      {&model.flopsPerNsBF16, positive(*rates, "bf16", where)},
      {&model.flopsPerNsF32, positive(*rates, "f32", where)},
      {&model.flopsPerNsF64, positive(*rates, "f64", where)},
      {&model.bytesPerNs, positive(*object, "bytes_per_ns", where)}};
  Error errors = Error::success();
  for (auto &[field, number] : fields) {
    if (number)
      *field = *number;
    else
      errors = joinErrors(std::move(errors), number.takeError());
  }
  errors = joinErrors(std::move(errors), readKernels(*object, model, where));
  if (errors)
    return std::move(errors);
  return model;
}

Expected<DeviceModel> llmmem::loadDeviceModel(StringRef nameOrFile) {
  if (nameOrFile.ends_with(".json")) {
    Expected<std::unique_ptr<MemoryBuffer>> buffer = planning::readTextFile(nameOrFile);
    if (!buffer)
      return buffer.takeError();
    return parseDeviceModel((*buffer)->getBuffer(), nameOrFile);
  }
  std::string names;
  for (StringRef table : shippedTables) {
    Expected<DeviceModel> model = parseDeviceModel(table, "shipped device table");
    if (!model)
      return model;
    if (model->name == nameOrFile)
      return model;
    names += (names.empty() ? "" : ", ") + model->name;
  }
  return createStringError(
      formatv("unknown device '{0}'; expected one of {1}, or a file that ends in .json", nameOrFile,
              names));
}
