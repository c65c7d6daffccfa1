//===- Quantized.cpp - Configs of quantized weights ------------------------===//

#include "Quantized.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

/// Integers with a scale for each group of neighbours of a row; no group means a whole row.
static Quantization integers(StringRef method, int64_t bits, std::optional<int64_t> group) {
  Quantization quantized;
  quantized.words = (method + ", " + Twine(bits) + " bits" +
                     (group ? " in groups of " + Twine(*group) : Twine(", a scale for each row")))
                        .str();
  if ((bits == 4 || bits == 8) && group && *group > 0)
    quantized.format = HeldFormat{bits == 4 ? HeldKind::Int4 : HeldKind::Int8, *group};
  else
    quantized.missing = group ? "integers of " + std::to_string(bits) + " bits"
                              : "one scale for each row of a weight";
  return quantized;
}

static Quantization floats4(StringRef method, StringRef words, StringRef scales) {
  return {(method + ", " + words).str(), std::nullopt,
          ("floats of 4 bits (E2M1) with " + scales).str()};
}

/// Floats of 8 bits: a scale for each block, or for a whole tensor.
static Quantization floats8(StringRef method, const json::Object &object) {
  const json::Array *block = object.getArray("weight_block_size");
  std::optional<int64_t> rows, columns;
  if (block && block->size() == 2) {
    rows = (*block)[0].getAsInteger();
    columns = (*block)[1].getAsInteger();
  }
  if (!rows || !columns || *columns <= 0)
    return {(method + ", a scale for each weight").str(), std::nullopt,
            "one scale for a whole weight"};
  HeldFormat format{HeldKind::F8E4M3, *columns};
  if (object.getString("fmt").value_or("e4m3").contains("e5m2"))
    format.kind = HeldKind::F8E5M2;
  return {(method + " in blocks of " + Twine(*rows) + " x " + Twine(*columns)).str(), format, ""};
}

/// The first group of `config_groups` speaks for all, as published files have one.
static Quantization compressed(StringRef method, const json::Object &object) {
  const json::Object *groups = object.getObject("config_groups");
  const json::Object *group =
      groups && !groups->empty() ? groups->begin()->second.getAsObject() : nullptr;
  const json::Object *weights = group ? group->getObject("weights") : nullptr;
  if (!weights)
    return {method.str(), std::nullopt, "the format of its weights, which the config does not say"};
  const int64_t bits = weights->getInteger("num_bits").value_or(0);
  std::optional<int64_t> size = weights->getInteger("group_size");
  if (weights->getString("type").value_or("int") == "int")
    return integers(method, bits, size);
  if (bits == 8)
    return floats8(method, *weights);
  const bool isMx = object.getString("format").value_or("").starts_with("mxfp4");
  return floats4(method, "floats of 4 bits in groups of " + std::to_string(size.value_or(0)),
                 isMx ? "scales that are powers of two" : "scales of 8 bits (E4M3)");
}

static Quantization describe(const json::Object &object) {
  const StringRef method = object.getString("quant_method").value_or("");
  const StringRef algorithm = object.getString("quant_algo").value_or("");
  if (method == "fp8" || method == "fbgemm_fp8")
    return floats8(method, object);
  if (method == "mxfp4")
    return floats4(method, "groups of 32", "scales that are powers of two");
  if (algorithm.contains("NVFP4"))
    return floats4("NVFP4", "groups of 16", "scales of 8 bits (E4M3)");
  if (algorithm.starts_with("FP8"))
    return floats8("FP8", object);
  if (object.getObject("config_groups"))
    return compressed(method.empty() ? "compressed-tensors" : method, object);
  if (method == "gptq" || method == "awq")
    return integers(method, object.getInteger("bits").value_or(4),
                    object.getInteger("group_size").value_or(128));
  if (method == "bitsandbytes" && object.getBoolean("load_in_8bit").value_or(false))
    return integers(method, 8, std::nullopt);
  if (method == "bitsandbytes")
    return {"bitsandbytes, " + object.getString("bnb_4bit_quant_type").value_or("fp4").str(),
            std::nullopt, "numbers of 4 bits by a table (NF4)"};
  const StringRef name = !method.empty() ? method : !algorithm.empty() ? algorithm : "no name";
  return {name.str(), std::nullopt, ("the format '" + name + "'").str()};
}

/// Returns the object that NVIDIA's tool writes next to a config that says nothing.
static std::optional<json::Value> readNeighbour(StringRef file) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(file));
  llvm::sys::path::append(path, "hf_quant_config.json");
  if (!llvm::sys::fs::is_regular_file(path))
    return std::nullopt;
  auto text = readTextFile(path);
  if (!text) {
    llvm::consumeError(text.takeError());
    return std::nullopt;
  }
  llvm::Expected<json::Value> value = parseJsonTree((*text)->getBuffer());
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  return std::move(*value);
}

/// Returns the word of a name that says how weights are quantized, or nothing.
static StringRef findWord(StringRef name) {
  for (StringRef word : {"NVFP4", "MXFP4", "FP8", "AWQ", "GPTQ", "W4A16", "W8A8", "Int4", "Int8"})
    for (StringRef separator : {"-", "_"})
      if (name.contains_insensitive((separator + word).str()))
        return word;
  return "";
}

std::optional<Quantization> importer::readQuantization(ConfigReader &config) {
  if (const json::Object *object = config.optionalObject("quantization_config"))
    return describe(*object);
  if (std::optional<json::Value> neighbour = readNeighbour(config.getFile()))
    if (const json::Object *object = neighbour->getAsObject())
      if (const json::Object *quantized = object->getObject("quantization"))
        return describe(*quantized);
  StringRef word = findWord(llvm::sys::path::filename(config.getFile()));
  if (word.empty())
    word = findWord(config.optionalText("_name_or_path").value_or(""));
  if (word.empty())
    return std::nullopt;
  return Quantization{(word + ", by the model's name alone").str(), std::nullopt,
                      "the 'quantization_config' that says how"};
}

void importer::holdAsInFile(ImportOptions &options, const ModelFacts &facts) {
  if (options.keepsCaches() && !options.weights && facts.quantized)
    options.weights = facts.quantized->format;
}

std::string importer::judgeQuantization(ConfigReader &config, const Quantization &quantized,
                                        const ImportOptions &options) {
  const std::string what = "the weights are quantized (" + quantized.words + ")";
  if (options.weights)
    return what + ", and are held as --weights says, " + options.weights->text();
  if (options.keepsCaches() && quantized.format)
    return what + ", and are held as --weights " + quantized.format->text();
  if (options.dtype)
    return what + ", and are taken as they are after dequantization";
  const std::string way = quantized.format ? "--weights " + quantized.format->text() +
                                                 " holds them so in inference and under adapters"
                                           : "what is missing is " + quantized.missing;
  config.fail("key 'quantization_config' says that " + what +
              (options.keepsCaches() ? ", and steps with caches have no such weights; "
                                     : ", and quantized weights are not trained; ") +
              way + "; --dtype bf16 takes them dequantized");
  return "";
}
