//===- ProductAlgorithms.cpp - Algorithms of matmuls, kept between runs ---===//
//
//   {"format": "llmmem-product-algorithms", "version": 1, "library": "cuBLASLt 13.1.0",
//    "device": "NVIDIA H200", "algorithms": [{"rows": 128, "columns": 96, "inner": 64, "batch": 1,
//     "a": {"type": "bf16", "pitch": 64, "transposed": false, "stride": 0, "alignment": 256},
//     "b": {...}, "c": {...}, "initial": null, "epilogue": 1, "aux_pitch": 0, "workspace": 0,
//     "data": "128 hexadecimal digits"}]}
//
// An algorithm is 64 opaque bytes of one version of the library.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Execution/CudaDevice.h"
#include "llmmem/Runtime/Cuda.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace llvm;
using namespace llmmem;

static constexpr StringLiteral kFormat = "llmmem-product-algorithms";

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value toJson(const llmmem_matrix_form &matrix) {
  if (matrix.pitch == 0)
    return nullptr;
  return json::Object{{"type", matrix.type == LLMMEM_PRODUCT_BF16 ? "bf16" : "f32"},
                      {"pitch", matrix.pitch},
                      {"transposed", matrix.transposed != 0},
                      {"stride", matrix.stride},
                      {"alignment", matrix.alignment}};
}

static json::Value toJson(const llmmem_product_algorithm &algorithm) {
  const llmmem_product_form &form = algorithm.form;
  StringRef bytes(reinterpret_cast<const char *>(algorithm.data), sizeof algorithm.data);
  return json::Object{{"rows", form.rows},
                      {"columns", form.columns},
                      {"inner", form.inner},
                      {"batch", form.batch},
                      {"a", toJson(form.a)},
                      {"b", toJson(form.b)},
                      {"c", toJson(form.c)},
                      {"initial", toJson(form.initial)},
                      {"epilogue", form.epilogue},
                      {"aux_pitch", form.aux_pitch},
                      {"workspace", form.workspace_bytes},
                      {"data", toHex(bytes, /*LowerCase=*/true)}};
}

Error CudaDevice::saveAlgorithms() const {
  const llmmem_products *products = llmmem_cuda_products(run);
  json::Array entries;
  for (size_t k = 0; k < llmmem_products_count(products); ++k)
    entries.push_back(toJson(*llmmem_products_algorithm(products, k)));
  json::Object text{{"format", kFormat},
                    {"version", 1},
                    {"library", this->products()},
                    {"device", name()},
                    {"algorithms", std::move(entries)}};
  return writeTextFile(algorithms, formatv("{0:2}\n", json::Value(std::move(text))).str());
}

CudaDevice::AlgorithmCounts CudaDevice::countAlgorithms() const {
  AlgorithmCounts counts;
  const llmmem_products *products = llmmem_cuda_products(run);
  for (size_t k = 0; products && k < llmmem_products_count(products); ++k)
    ++(llmmem_products_algorithm(products, k)->is_given ? counts.given : counts.asked);
  return counts;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static bool read(const json::Value *value, llmmem_matrix_form &matrix) {
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object)
    return false;
  std::optional<StringRef> type = object->getString("type");
  std::optional<int64_t> pitch = object->getInteger("pitch"), stride = object->getInteger("stride"),
                         alignment = object->getInteger("alignment");
  std::optional<bool> transposed = object->getBoolean("transposed");
  if (!type || (*type != "bf16" && *type != "f32") || !pitch || !stride || !alignment ||
      !transposed)
    return false;
  matrix = {*type == "bf16" ? LLMMEM_PRODUCT_BF16 : LLMMEM_PRODUCT_F32, *pitch, *transposed,
            *stride, *alignment};
  return true;
}

static bool read(const json::Object &object, llmmem_product_form &form) {
  const std::pair<StringRef, int64_t *> numbers[] = {{"rows", &form.rows},
                                                     {"columns", &form.columns},
                                                     {"inner", &form.inner},
                                                     {"batch", &form.batch},
                                                     {"epilogue", &form.epilogue},
                                                     {"aux_pitch", &form.aux_pitch},
                                                     {"workspace", &form.workspace_bytes}};
  for (auto [key, number] : numbers) {
    std::optional<int64_t> value = object.getInteger(key);
    if (!value)
      return false;
    *number = *value;
  }
  const json::Value *initial = object.get("initial");
  return read(object.get("a"), form.a) && read(object.get("b"), form.b) &&
         read(object.get("c"), form.c) && initial &&
         (initial->getAsNull() || read(initial, form.initial));
}

/// Whether the file is for this library and this device.
static Error checkOrigin(const json::Object &file, StringRef name, StringRef library,
                         StringRef device) {
  if (file.getString("format") != kFormat || file.getInteger("version") != 1)
    return createStringError("'" + name + "' is not a file of product algorithms, version 1");
  StringRef itsLibrary = file.getString("library").value_or("?"),
            itsDevice = file.getString("device").value_or("?");
  if (itsLibrary == library && itsDevice == device)
    return Error::success();
  return createStringError(formatv("'{0}' has algorithms of {1} on '{2}', and this is {3} on "
                                   "'{4}'; delete it, or name another file",
                                   name, itsLibrary, itsDevice, library, device));
}

Error CudaDevice::loadAlgorithms(StringRef file) {
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(file);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
  if (!value)
    return createStringError("'" + file + "' is " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("'" + file + "' is not a file of product algorithms, version 1");
  if (Error error = checkOrigin(*object, file, products(), name()))
    return error;
  const json::Array *algorithms = object->getArray("algorithms");
  for (size_t k = 0; algorithms && k < algorithms->size(); ++k) {
    const json::Object *entry = (*algorithms)[k].getAsObject();
    llmmem_product_form form = {};
    uint64_t data[8];
    std::string bytes;
    if (!entry || !read(*entry, form) ||
        !tryGetFromHex(entry->getString("data").value_or(""), bytes) || bytes.size() != sizeof data)
      return createStringError(formatv("'{0}': algorithm {1} is incomplete; delete the file to "
                                       "have all chosen anew",
                                       file, k));
    std::memcpy(data, bytes.data(), sizeof data);
    if (llmmem_products_give(llmmem_cuda_products(run), &form, data))
      return createStringError(llmmem_products_message(llmmem_cuda_products(run)));
  }
  return Error::success();
}
