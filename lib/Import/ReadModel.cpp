//===- ReadModel.cpp - From a config.json to a Model -----------------------===//

#include "ConfigKeys.h"
#include "Counted.h"
#include "Quantized.h"
#include "TextPart.h"
#include "llmmem/Import/Import.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

/// Says what the nearest names are, or all, and what can be done with a model that is none.
static std::string otherNames(StringRef modelType) {
  auto names = llvm::map_to_vector(families(), [](const Family &f) { return f.modelType; });
  std::vector<StringRef> nearest = nearestNames(modelType, names);
  if (nearest.empty())
    nearest.assign(names.begin(), names.end());
  return std::string("expected one of ") + llvm::join(nearest, ", ") +
         (nearest.size() < names.size() ? " (the nearest; --help lists all)" : "") + "; " +
         kTraced.str();
}

/// Returns null where no family has this name.
static const Family *familyOf(StringRef modelType) {
  for (llvm::ArrayRef<Family> list : {families(), countedFamilies()})
    for (const Family &family : list)
      if (family.modelType == modelType)
        return &family;
  return nullptr;
}

static llvm::Expected<const Family *> findFamily(ConfigReader &config) {
  if (!config.has("model_type"))
    config.fail("missing key " + config.quoted("model_type") + "; --help lists what it may be");
  const std::string modelType = config.optionalText("model_type").value_or("");
  const Family *family = familyOf(modelType);
  if (!family) {
    const StringRef idea = missingIdea(modelType);
    config.fail("key " + config.quoted("model_type") + " is \"" + modelType + "\", " +
                (idea.empty() ? otherNames(modelType)
                              : "whose models have " + idea.str() + "; this is not supported; " +
                                    kTraced.str()));
  }
  if (llvm::Error error = config.takeError("a config"))
    return std::move(error);
  return family;
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
    config.fail("key " + config.quoted(key) + " is \"" + text +
                "\", expected one of bfloat16, float16, float32, float64; --dtype overrides it");
  return kind.value_or(ElementKind::F32);
}

/// Refuses a class that makes another model of the same sizes.
static void checkClass(ConfigReader &config, const ModelFacts &facts) {
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
    config.fail("key " + config.quoted("architectures") + " is " + llvm::join(classes, ", ") +
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
  auto counted = llvm::map_range(countedFamilies(), [](const Family &f) { return f.modelType; });
  return text + "\n  counted alone (--count-parameters), without a graph:\n    " +
         llvm::join(counted, ", ") + "\n";
}

/// Reads keys that all families share, and judges those that nothing has read. An import that
/// passed over a key that makes another model would present that model as this one.
static void readSharedKeys(ConfigReader &config, StringRef modelType, const ImportOptions &options,
                           ModelFacts &facts) {
  facts.dtype = readElementKind(config, options);
  facts.file = config.getFile().str();
  facts.quantized = readQuantization(config);
  if (facts.quantized)
    facts.notes.push_back(judgeQuantization(config, *facts.quantized, options));
  if (facts.countedAlone.empty())
    checkClass(config, facts);
  facts.layers = options.layers.value_or(facts.layers);
  if (facts.layers < 1 || facts.layers > kMostLayers)
    config.fail("the model has " + Twine(facts.layers) + " layers, supported are 1 to " +
                Twine(kMostLayers));
  if (!facts.countedAlone.empty()) { // Keys that change the graph alone change no count.
    if (options.layers)
      config.fail("this model is counted with the layers of its file; leave --layers out");
    facts.notes.push_back("this model has " + facts.countedAlone +
                          "; its parameters are counted, and no graph is built");
    return;
  }
  std::vector<std::string> unused = judgeUnusedKeys(config, modelType);
  if (!unused.empty())
    facts.notes.push_back("these keys are not used: " + llvm::join(unused, ", "));
}

llvm::Expected<std::unique_ptr<Model>> importer::readModel(StringRef text, StringRef file,
                                                           const ImportOptions &options) {
  llvm::Expected<llvm::json::Object> object = parseConfig(text, file);
  if (!object)
    return object.takeError();
  // A model of its own may have a part of this name, too.
  const StringRef whole = object->getString("model_type").value_or("");
  const bool isPart = missingIdea(whole).empty() && !familyOf(whole);
  std::optional<TextPart> part = isPart ? findTextPart(*object) : std::nullopt;
  llvm::json::Object &own = part ? part->config : *object;
  const std::string where = part ? part->key : "";
  ConfigReader typeReader(own, file, where);
  llvm::Expected<const Family *> family = findFamily(typeReader);
  if (!family)
    return family.takeError();

  std::vector<std::string> added = addLibraryDefaults(own, (*family)->modelType);
  ConfigReader config(own, file, where);
  std::unique_ptr<Model> model = (*family)->read(config, options);
  std::vector<std::string> &notes = model->facts.notes;
  if (part) {
    model->nameAsTextPart(part->names);
    notes.push_back(
        "the text part ('" + where + "') alone is imported" +
        (part->leftOut.empty() ? "" : "; left out: " + llvm::join(part->leftOut, ", ")));
  }
  if (!added.empty())
    notes.push_back("keys that the file does not have are as in the public library: " +
                    llvm::join(added, ", "));
  readSharedKeys(config, (*family)->modelType, options, model->facts);
  if (llvm::Error error = config.takeError(("a " + (*family)->modelType + " config").str()))
    return std::move(error);
  return model;
}

std::string importer::placesNote(const ModelFacts &facts, const ImportOptions &options) {
  if (facts.experts <= facts.chosenExperts || facts.chosenExperts == 0 || options.expertCapacity ||
      options.seq == 1)
    return "";
  const double times =
      static_cast<double>(facts.experts) / static_cast<double>(facts.chosenExperts);
  std::string text;
  llvm::raw_string_ostream(text)
      << "each of " << facts.experts << " experts has a place for every token, so that no choice "
      << "is dropped; a token chooses " << facts.chosenExperts << ", so products of experts have "
      << llvm::format("%.1f", times)
      << " times the FLOPs and the bytes of the rows that routing fills; --expert-capacity bounds "
         "the places, and counts what is dropped";
  return text;
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
