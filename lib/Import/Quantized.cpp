//===- Quantized.cpp - Configs of quantized weights ------------------------===//

#include "Quantized.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

static Quantization withScaleOfRow(const Twine &words) {
  return {(words + ", a scale for each row").str(), std::nullopt,
          "one scale for each row of a weight"};
}

/// A scale for each group of neighbours of a row.
static Quantization withGroups(const Twine &words, HeldFormat format) {
  if (format.group % llm::kGroupStep == 0)
    return {words.str(), format, ""};
  return {
      words.str(), std::nullopt,
      ("groups of " + Twine(format.group) + ", which is no multiple of " + Twine(llm::kGroupStep))
          .str()};
}

/// Integers with a scale for each group of neighbours of a row. No group, or -1, means a whole row.
static Quantization integers(StringRef method, int64_t bits, std::optional<int64_t> group) {
  const std::string words = (method + ", " + Twine(bits) + " bits").str();
  if (group.value_or(0) <= 0)
    return withScaleOfRow(words);
  const std::string grouped = words + " in groups of " + std::to_string(*group);
  if (bits != 4 && bits != 8)
    return {grouped, std::nullopt, "integers of " + std::to_string(bits) + " bits"};
  return withGroups(grouped, {bits == 4 ? HeldKind::Int4 : HeldKind::Int8, *group});
}

static Quantization floats4(StringRef method, StringRef words, StringRef scales) {
  return {(method + ", " + words).str(), std::nullopt,
          ("floats of 4 bits (E2M1) with " + scales).str()};
}

/// Floats of 8 bits with a scale for each block, which is an array under `blockKey`, or for a whole
/// tensor.
static Quantization floats8(StringRef method, const json::Object &object, StringRef blockKey) {
  const json::Array *block = object.getArray(blockKey);
  std::optional<int64_t> rows, columns;
  if (block && block->size() == 2) {
    rows = (*block)[0].getAsInteger();
    columns = (*block)[1].getAsInteger();
  }
  if (!rows || !columns || *rows <= 0 || *columns <= 0)
    return {(method + ", a scale for each weight").str(), std::nullopt,
            "one scale for a whole weight"};
  HeldFormat format{HeldKind::F8E4M3, *columns};
  if (object.getString("fmt").value_or("e4m3").contains("e5m2"))
    format.kind = HeldKind::F8E5M2;
  return withGroups(method + " in blocks of " + Twine(*rows) + " x " + Twine(*columns), format);
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
  if (bits == 8 && weights->getString("strategy") == StringRef("channel"))
    return withScaleOfRow(method + ", floats of 8 bits");
  if (bits == 8)
    return floats8(method, *weights, "block_structure");
  if (bits != 4)
    return {method.str(), std::nullopt, "floats of " + std::to_string(bits) + " bits"};
  const bool isMx = object.getString("format").value_or("").starts_with("mxfp4");
  return floats4(method, "floats of 4 bits in groups of " + std::to_string(size.value_or(0)),
                 isMx ? "scales that are powers of two" : "scales of 8 bits (E4M3)");
}

static Quantization describe(const json::Object &object) {
  const StringRef method = object.getString("quant_method").value_or("");
  const StringRef algorithm = object.getString("quant_algo").value_or("");
  if (method == "fp8")
    return floats8(method, object, "weight_block_size");
  if (method == "fbgemm_fp8" || algorithm.starts_with("FP8_PER_CHANNEL"))
    return withScaleOfRow(method.empty() ? algorithm : method);
  if (method == "mxfp4")
    return floats4(method, "groups of 32", "scales that are powers of two");
  if (algorithm.contains("NVFP4"))
    return floats4("NVFP4", "groups of 16", "scales of 8 bits (E4M3)");
  if (algorithm.starts_with("FP8"))
    return floats8("FP8", object, "weight_block_size");
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

static constexpr StringRef kNeighbour = "hf_quant_config.json";

/// Reads the file that NVIDIA's tool writes next to a config that says nothing. A config from stdin
/// has no neighbours.
static std::optional<Quantization> readNeighbour(ConfigReader &config) {
  llvm::SmallString<128> path(llvm::sys::path::parent_path(config.getFile()));
  llvm::sys::path::append(path, kNeighbour);
  if (!llvm::sys::fs::exists(config.getFile()) || !llvm::sys::fs::exists(path))
    return std::nullopt;
  auto text = readTextFile(path);
  llvm::Expected<json::Value> value = text ? parseJsonTree((*text)->getBuffer()) : text.takeError();
  if (!value) {
    config.fail(kNeighbour + " next to it says how the weights are quantized: " +
                llvm::toString(value.takeError()));
    return std::nullopt;
  }
  const json::Object *whole = value->getAsObject();
  if (const json::Object *object = whole ? whole->getObject("quantization") : nullptr)
    return describe(*object);
  config.fail(kNeighbour + " next to it has no object 'quantization', expected one that says how "
                           "the weights are quantized");
  return std::nullopt;
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
  auto from = [](const Twine &source, Quantization quantized) {
    quantized.source = source.str();
    return quantized;
  };
  constexpr StringRef key = "quantization_config";
  if (const json::Object *object = config.optionalObject(key))
    return from("key " + config.quoted(key), describe(*object));
  if (std::optional<Quantization> neighbour = readNeighbour(config))
    return from(kNeighbour + " next to it", *neighbour);
  StringRef word = findWord(llvm::sys::path::filename(config.getFile()));
  if (word.empty())
    word = findWord(config.optionalText("_name_or_path").value_or(""));
  if (word.empty())
    return std::nullopt;
  return from("the name", {(word + ", by the model's name alone").str(), std::nullopt,
                           "the 'quantization_config' that says how"});
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
  config.fail(quantized.source + " says that " + what +
              (options.keepsCaches() ? ", and steps with caches have no such weights; "
                                     : ", and quantized weights are not trained; ") +
              way + "; --dtype bf16 takes them dequantized");
  return "";
}
