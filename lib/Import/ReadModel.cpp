//===- ReadModel.cpp - From a config.json to a Model -----------------------===//

#include "llmmem/Import/Import.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// This is far beyond any model. A typing error must not fill the memory with ops.
static constexpr int64_t kMostLayers = 65536;

static llvm::Expected<const Family *> findFamily(ConfigReader &config) {
  auto names = llvm::map_to_vector(families(), [](const Family &f) { return f.modelType; });
  if (!config.has("model_type"))
    config.fail("missing key 'model_type', one of " + llvm::join(names, ", "));
  std::string modelType = config.choice("model_type", names);
  if (llvm::Error error = config.takeError("a config"))
    return std::move(error);
  return llvm::find_if(families(), [&](const Family &f) { return f.modelType == modelType; });
}

/// Returns the type in which the public library would load the weights: float32 where the config
/// does not say.
static ElementKind readElementKind(ConfigReader &config, const ImportOptions &options) {
  if (options.dtype)
    return *options.dtype;
  StringRef key = config.has("dtype") ? "dtype" : "torch_dtype"; // The newer name comes first.
  std::string text = config.optionalText(key).value_or("float32");
  auto kind = llvm::StringSwitch<std::optional<ElementKind>>(text)
                  .Case("bfloat16", ElementKind::BF16)
                  .Case("float16", ElementKind::F16)
                  .Case("float32", ElementKind::F32)
                  .Case("float64", ElementKind::F64)
                  .Default(std::nullopt);
  if (!kind)
    config.fail("key '" + key + "' is \"" + text +
                "\", expected one of bfloat16, float16, float32, float64; --dtype overrides it");
  return kind.value_or(ElementKind::F32);
}

/// Refuses keys that make another model of the same sizes, which an import without them would
/// present as this one.
static void checkMeaning(ConfigReader &config, const ModelFacts &facts) {
  if (const llvm::json::Object *quantized = config.optionalObject("quantization_config")) {
    std::optional<StringRef> method = quantized->getString("quant_method");
    config.fail("key 'quantization_config' says that the weights are quantized" +
                (method ? " (" + *method + ")" : Twine()) +
                ", and quantized weights are not trained; take the config of the model that they "
                "were made from, or of a copy that was converted to bfloat16");
  }
  std::vector<std::string> classes =
      config.optionalTexts("architectures").value_or(std::vector<std::string>());
  auto predictsTokens = [&](StringRef name) {
    if (facts.image)
      return name.ends_with("ForImageClassification");
    if (facts.encodes)
      return name.ends_with("ForConditionalGeneration") || name.ends_with("WithLMHeadModel");
    return facts.predictsMasked ? name.ends_with("ForMaskedLM")
                                : name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel");
  };
  StringRef expected =
      facts.image            ? "the class of an image (its name ends in ForImageClassification)"
      : facts.encodes        ? "text from text (its name ends in ForConditionalGeneration)"
      : facts.predictsMasked ? "masked tokens (its name ends in ForMaskedLM)"
                             : "the next token (its name ends in ForCausalLM or LMHeadModel)";
  if (!classes.empty() && llvm::none_of(classes, predictsTokens))
    config.fail("key 'architectures' is " + llvm::join(classes, ", ") +
                ", expected a class that predicts " + expected);
}

std::string importer::familyHelp() {
  std::string text;
  const llvm::json::Object empty;
  for (const Family &family : families()) {
    ConfigReader config(empty, "");
    family.read(config, ImportOptions());
    text += "  " + family.modelType.str() + "\n    needs " +
            llvm::join(config.requiredKeys(), ", ") + "\n    may have " +
            llvm::join(config.optionalKeys(), ", ") + "\n";
  }
  return text;
}

llvm::Expected<std::unique_ptr<Model>> importer::readModel(StringRef text, StringRef file,
                                                           const ImportOptions &options) {
  llvm::Expected<llvm::json::Object> object = parseConfig(text, file);
  if (!object)
    return object.takeError();
  ConfigReader typeReader(*object, file);
  llvm::Expected<const Family *> family = findFamily(typeReader);
  if (!family)
    return family.takeError();

  ConfigReader config(*object, file);
  std::unique_ptr<Model> model = (*family)->read(config, options);
  model->facts.dtype = readElementKind(config, options);
  model->facts.file = file.str();
  checkMeaning(config, model->facts);
  model->facts.layers = options.layers.value_or(model->facts.layers);
  if (model->facts.layers < 1 || model->facts.layers > kMostLayers)
    config.fail("the model has " + Twine(model->facts.layers) + " layers, supported are 1 to " +
                Twine(kMostLayers));
  if (llvm::Error error = config.takeError(("a " + (*family)->modelType + " config").str()))
    return std::move(error);
  return model;
}

static llvm::Expected<int64_t> countElements(llvm::ArrayRef<Parameter> parameters) {
  std::optional<int64_t> count = 0;
  for (const Parameter &parameter : parameters) {
    std::optional<int64_t> elements = 1;
    for (int64_t dim : parameter.shape)
      elements = elements ? llvm::checkedMul(*elements, dim) : std::nullopt;
    count = count && elements ? llvm::checkedAdd(*count, *elements) : std::nullopt;
    if (!count)
      return llvm::createStringError("the model has 2^63 parameters or more, counted up to '" +
                                     parameter.name + "'");
  }
  return *count;
}

llvm::Expected<int64_t> importer::countParameters(const Model &model) {
  return countElements(model.parameters());
}

llvm::Expected<int64_t> importer::countTrained(const Model &model, const ImportOptions &options) {
  llvm::Expected<std::vector<Parameter>> parameters = listParameters(model, options);
  if (!parameters)
    return parameters.takeError();
  llvm::erase_if(*parameters, [](const Parameter &parameter) { return parameter.frozen; });
  return countElements(*parameters);
}
