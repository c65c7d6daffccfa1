//===- llmmem-import.cpp - A transformer graph from a config.json ----------===//

#include "Tools.h"
#include "TrainingFlags.h"
#include "llmmem/Import/Import.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace llm = llmmem::llm;
using llmmem::Choice;
using llmmem::firstGiven;
using llmmem::Flag;
using llmmem::TrainingFlags;
using namespace llmmem::importer;

namespace {
/// Has a member for each flag, which is there once the tool runs: a program has several tools.
/// Many fields: the flags.
class ImportTool {
public:
  int run(int argc, char **argv) {
    llvm::InitLLVM init(argc, argv);
    llmmem::startTool("llmmem-import");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(argc, argv,
                                "A transformer graph in MLIR from a model's public config.json\n");
    return run();
  }

private:
  cl::OptionCategory category{"llmmem-import"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<config.json>"), cl::init("-"),
                             cl::cat(category)};
  Flag<std::string> output{category, "o", "file", "Where to write (default: -, stdout)",
                           cl::init("-")};
  Flag<int64_t> batch{category, "batch", "B", "Sequences in a step"};
  Flag<int64_t> seq{category, "seq", "S",
                    "Tokens in a sequence; of images it follows from the config"};
  Flag<int64_t> decoderSeq{category, "decoder-seq", "S",
                           "Tokens that a decoder after an encoder predicts (default: --seq)"};
  Flag<int64_t> layers{category, "layers", "N", "Layers (default: the config's own)"};
  Choice<ElementKind> dtype{
      "dtype", cl::desc("Type of parameters and activations (default: the config's own):"),
      cl::values(clEnumValN(ElementKind::BF16, "bf16", "bfloat16"),
                 clEnumValN(ElementKind::F16, "f16", "float16, whose loss is scaled"),
                 clEnumValN(ElementKind::F32, "f32", "float32"),
                 clEnumValN(ElementKind::F64, "f64", "float64, for checks of gradients")),
      cl::cat(category)};
  Choice<ElementKind> paramDtype{
      "param-dtype",
      cl::desc("Type of parameters alone, rounded where they are read (default: that of --dtype):"),
      cl::values(clEnumValN(ElementKind::BF16, "bf16", "bfloat16"),
                 clEnumValN(ElementKind::F16, "f16", "float16"),
                 clEnumValN(ElementKind::F32, "f32", "float32, with --dtype bf16 or f16"),
                 clEnumValN(ElementKind::F64, "f64", "float64")),
      cl::cat(category)};
  Choice<AttentionForm> attention{
      "attention", cl::desc("Form of attention (default: flash):"),
      cl::values(
          clEnumValN(AttentionForm::Flash, "flash", "one op, scores never held"),
          clEnumValN(AttentionForm::Unfused, "unfused", "scores, mask, softmax, dropout, values")),
      cl::cat(category)};
  Flag<double> dropout{
      category, "dropout", "P",
      "Probability of all dropouts that the family has (default: the config's own; "
      "gpt2: embedding, attention, residual; others: attention)"};
  Choice<MaskForm> masks{
      "dropout-masks", cl::desc("How the backward gets dropout masks (default: seeded):"),
      cl::values(clEnumValN(MaskForm::Seeded, "seeded", "drawn again from the seed"),
                 clEnumValN(MaskForm::Stored, "stored",
                            "kept, a byte an element; flash attention draws again")),
      cl::cat(category)};
  Choice<Mode> mode{
      "mode", cl::desc("What to write (default: train):"),
      cl::values(
          clEnumValN(Mode::Train, "train", "@loss, to be differentiated"),
          clEnumValN(Mode::Forward, "forward", "@forward, giving logits"),
          clEnumValN(Mode::Prefill, "prefill",
                     "@prefill, taking up to --seq tokens of each sequence into "
                     "caches"),
          clEnumValN(Mode::Decode, "decode", "@decode, taking one token of each into caches")),
      cl::cat(category)};
  Flag<int64_t> context{category, "context", "C",
                        "Of prefill and decode: the most tokens that a sequence may have (default "
                        "for prefill: --seq)"};
  Flag<int64_t> page{
      category, "page", "P",
      "Of prefill and decode: caches in pages of so many tokens, which a table gives to sequences"};
  Flag<int64_t> pages{
      category, "pages", "N",
      "... and so many of them in each cache (default: enough for all sequences at their longest)"};
  Flag<std::string> weights{
      category, "weights", "type:G",
      "Hold what is not trained of projections and tables in fewer bits: int8:G, int4:G, "
      "f8e4m3:G or f8e5m2:G, with a scale for each G neighbours of a row (default G: 128)"};
  Flag<std::string> activations{
      category, "activations", "int8:G",
      "Of prefill and decode, with --weights int4 or int8: round what multiplies these to int8:G, "
      "with a scale for each G neighbours (default G: 64), so that a CPU multiplies integers"};
  Flag<std::string> kvCache{
      category, "kv-cache", "type",
      "Of prefill and decode: hold caches in int8, f8 (f8e4m3) or f8e5m2, with "
      "a scale for each head of a row"};
  TrainingFlags training{category};
  Flag<double> clipNorm{category, "clip-norm", "X",
                        "Largest global norm of the gradients (default: 0, none)", cl::init(0)};
  Flag<double> beta1{category, "beta1", "", "Of adamw and lion (default: 0.9)"};
  Flag<double> beta2{category, "beta2", "", "Of adamw (default: 0.999) and lion (0.99)"};
  Flag<double> eps{category, "eps", "", "Of adamw (default: 1e-8) and adafactor (2^-23)"};
  Flag<double> weightDecay{
      category, "weight-decay", "",
      "On parameters of two dimensions or more (default: 0.1; 0 for sgd and adafactor)"};
  cl::list<std::string> noDecay{
      "no-decay", cl::CommaSeparated,
      cl::desc(
          "Groups of parameters without weight decay: norms, biases, embeddings, or patterns of "
          "names (default: whatever has one dimension)"),
      cl::value_desc("groups"), cl::cat(category)};
  cl::list<std::string> decayGroups{
      "decay-groups", cl::CommaSeparated,
      cl::desc(
          "Groups with a weight decay of their own: embeddings=0.01,lm_head.*=0.05; of several "
          "that have a parameter the last, --no-decay last of all"),
      cl::value_desc("group=X"), cl::cat(category)};
  Flag<double> momentum{category, "momentum", "", "Of sgd (default: 0) and muon (0.95)"};
  Flag<bool> nesterov{category, "nesterov", "",
                      "Look ahead by the momentum (default: false for sgd, true for muon)"};
  Flag<double> beta2Decay{category, "beta2-decay", "", "Of adafactor (default: -0.8)"};
  Flag<std::string> lossScale{
      category, "loss-scale", "scale",
      "What the loss is multiplied by before its gradients are made: a number, dynamic, or "
      "none. Steps whose gradients overflow are skipped; a dynamic scale is then halved, "
      "and doubled again later (default: dynamic with f16, else none)"};
  Flag<double> lossScaleInitial{category, "loss-scale-initial", "X",
                                "What a dynamic one begins as (default: 65536)", cl::init(65536)};
  Flag<int64_t> lossScaleInterval{
      category, "loss-scale-interval", "N",
      "Steps in a row without overflow until a dynamic one is doubled (default: 2000)",
      cl::init(2000)};
  Flag<bool> master{
      category, "master", "",
      "Keep an f32 copy of bf16 parameters, which is updated (default: true; false for sgd)"};
  Flag<bool> packed{category, "packed", "",
                    "Rows have several sequences packed into them, or padding, which llmmem-run "
                    "--segments keeps apart"};
  Flag<double> labelSmoothing{
      category, "label-smoothing", "E",
      "Share of the loss that every token of the vocabulary has alike (default: 0)", cl::init(0)};
  Flag<double> zLoss{category, "z-loss", "Z",
                     "Add Z times the square of each row's log-sum-exp (default: 0)", cl::init(0)};
  Flag<bool> countTrainedOnly{
      category, "count-trained", "",
      "Write the exact number of parameters that are trained in place of the graph"};
  Flag<double> balanceLoss{category, "balance-loss", "X",
                           "Coefficient of what unequally chosen experts cost, 0 for nothing "
                           "(default: the config's own)"};
  Flag<bool> countOnly{category, "count-parameters", "",
                       "Write the exact number of parameters in place of the graph"};

  const std::string help = R"(
EXAMPLES:
  A training step of GPT-2 in bfloat16, as its public config says otherwise:
    llmmem-import examples/configs/gpt2.json --batch 8 --seq 1024 --dtype bf16 -o gpt2.mlir
  Two layers of Llama-3-8B, attention written out:
    llmmem-import examples/configs/llama-3-8b.json --batch 1 --seq 8192 --layers 2 --attention unfused -o -
  Adapters of rank 16 next to the queries' and the values' projections, all else frozen:
    llmmem-import examples/configs/llama-3.1-8b.json --batch 8 --seq 2048 --lora-rank 16 --lora-alpha 32 --lora-targets q_proj,v_proj -o lora.mlir
  Steps of inference: 512 tokens of a prompt at a time, and one token of each of 16 sequences of up to 8192:
    llmmem-import examples/configs/llama-3-8b.json --mode prefill --batch 16 --seq 512 --context 8192 -o prefill.mlir
    llmmem-import examples/configs/llama-3-8b.json --mode decode --batch 16 --context 8192 -o decode.mlir
  The same with weights of 4 bits and caches of 8:
    llmmem-import examples/configs/llama-3-8b.json --mode decode --batch 16 --context 8192 --weights int4:128 --kv-cache int8 -o decode.mlir
  A training step of ViT-B/16, whose patches are its sequence:
    llmmem-import examples/configs/vit-base-patch16-224.json --batch 64 --dtype bf16 -o vit.mlir
  How many parameters a model has:
    llmmem-import examples/configs/qwen2.5-7b.json --count-parameters

FAMILIES, by 'model_type', and the keys of their config.json; all may have torch_dtype:
)" + familyHelp() + llmmem::exitCodeHelp("llmmem-import");
  cl::extrahelp extraHelp{help};

  template <typename T, typename Option>
  std::optional<T> given(const Option &option) {
    return option.getNumOccurrences() ? std::optional<T>(option) : std::nullopt;
  }

  llvm::Error readHeldFormats(ImportOptions &options) {
    if (weights.getNumOccurrences()) {
      llvm::Expected<HeldFormat> format = readWeightFormat(weights);
      if (!format)
        return format.takeError();
      options.weights = *format;
    }
    if (activations.getNumOccurrences()) {
      llvm::Expected<int64_t> group = readActivationGroup(activations);
      if (!group)
        return group.takeError();
      options.activationGroup = *group;
    }
    if (kvCache.getNumOccurrences()) {
      llvm::Expected<HeldKind> kind = readCacheFormat(kvCache);
      if (!kind)
        return kind.takeError();
      options.kvCache = *kind;
    }
    return llvm::Error::success();
  }

  ImportOptions readOptions() {
    ImportOptions options;
    options.batch = batch;
    options.seq = seq;
    options.decoderSeq = given<int64_t>(decoderSeq);
    options.dtype = given<ElementKind>(dtype);
    options.paramDtype = given<ElementKind>(paramDtype);
    options.attention = attention;
    options.dropout = given<double>(dropout);
    options.masks = masks;
    options.layers = given<int64_t>(layers);
    options.mode = mode;
    options.context = given<int64_t>(context);
    options.page = given<int64_t>(page);
    options.pages = given<int64_t>(pages);
    if (mode == Mode::Decode && !seq.getNumOccurrences())
      options.seq = 1;
    if (mode == Mode::Prefill && !options.context)
      options.context = options.seq;
    training.apply(options);
    options.training.beta1 = given<double>(beta1);
    options.training.beta2 = given<double>(beta2);
    options.training.eps = given<double>(eps);
    options.training.weightDecay = given<double>(weightDecay);
    options.training.clipNorm = clipNorm;
    options.training.lossScale = given<std::string>(lossScale);
    options.training.lossScaleInitial = lossScaleInitial;
    options.training.lossScaleInterval = lossScaleInterval;
    options.training.momentum = given<double>(momentum);
    options.training.beta2Decay = given<double>(beta2Decay);
    options.training.nesterov = given<bool>(nesterov);
    options.training.master = given<bool>(master);
    options.training.labelSmoothing = labelSmoothing;
    options.training.zLoss = zLoss;
    options.balanceLoss = given<double>(balanceLoss);
    options.packed = packed;
    return options;
  }

  llvm::Error readDecayGroups(TrainingOptions &training) {
    for (llvm::StringRef text : decayGroups) {
      auto [name, number] = text.rsplit('=');
      DecayGroup group{name.str(), 0};
      if (name.empty() || number.getAsDouble(group.decay))
        return llvm::createStringError("--decay-groups has '" + text +
                                       "', expected a group and its weight decay: norms=0.01");
      training.decayGroups.push_back(group);
    }
    for (const std::string &name : noDecay)
      training.decayGroups.push_back({name, 0});
    return llvm::Error::success();
  }

  int fail(const llvm::Twine &what) {
    llvm::WithColor::error(llvm::errs(), "llmmem-import") << what << '\n';
    return llmmem::ExitBadInput;
  }

  int fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

  bool keepsCaches() { return mode == Mode::Prefill || mode == Mode::Decode; }

  std::string nameOfMode() {
    switch (mode) {
    case Mode::Train:
      return "train";
    case Mode::Forward:
      return "forward";
    case Mode::Prefill:
      return "prefill";
    case Mode::Decode:
      return "decode";
    }
    llvm_unreachable("a mode beyond the enum");
  }

  /// Returns the first flag that is given and has no meaning in this mode, or null.
  const cl::Option *findMisplacedFlag() {
    if (mode == Mode::Train)
      return nullptr;
    if (const cl::Option *option =
            firstGiven(masks, training.optimizer, training.gradients, clipNorm, lossScale,
                       lossScaleInitial, lossScaleInterval, beta1, beta2, eps, weightDecay, noDecay,
                       decayGroups, momentum, nesterov, beta2Decay, master, training.optimizerState,
                       labelSmoothing, zLoss, balanceLoss, packed, training.freeze))
      return option;
    return dropout > 0 ? &dropout : nullptr;
  }

  /// Returns the first flag of caches in a mode without them, or of the core of attention in a mode
  /// with them, or null.
  const cl::Option *findFlagOfOtherMode() {
    return keepsCaches() ? firstGiven(attention) : firstGiven(context, page, pages, kvCache);
  }

  /// Returns the first flag of an adapter where no rank is given, or null.
  const cl::Option *findLoraWithoutRank() {
    return training.loraRank.getNumOccurrences()
               ? nullptr
               : firstGiven(training.loraAlpha, training.loraTargets);
  }

  /// Returns what a flag of training acts on where the model lacks it, or nothing.
  std::optional<std::string> findFlagWithoutEffect(const ImportOptions &options,
                                                   const ModelFacts &facts) {
    if (!options.trains())
      return std::nullopt;
    if (options.masks == MaskForm::Stored && !facts.dropsOut)
      return "--dropout-masks stored keeps the masks of dropouts, and this model has none above 0; "
             "leave it out, or give a --dropout";
    const ElementKind held = options.paramDtype.value_or(facts.dtype);
    if (options.training.master.value_or(false) && held != ElementKind::BF16 &&
        held != ElementKind::F16)
      return "--master keeps an f32 copy of parameters in bf16 or f16, and these are as wide "
             "themselves; leave it out";
    const std::string scale =
        options.training.lossScale.value_or(facts.dtype == ElementKind::F16 ? "dynamic" : "none");
    const cl::Option *ofDynamic[] = {&lossScaleInitial, &lossScaleInterval};
    for (const cl::Option *option : ofDynamic)
      if (option->getNumOccurrences() && scale != "dynamic")
        return "--" + option->ArgStr.str() +
               " is of a dynamic scale of the loss; give --loss-scale dynamic, or leave it out";
    return std::nullopt;
  }

  int write(llvm::StringRef text) {
    if (llmmem::floodsTerminal(output, text)) {
      llvm::errs() << "llmmem-import: " << llmmem::keptFromTerminal(text) << "-o model.mlir\n";
      return llmmem::ExitSuccess;
    }
    if (llvm::Error error = llmmem::writeTextFile(output, text))
      return fail(std::move(error));
    return llmmem::ExitSuccess;
  }

  int writeModule(const Model &model, const ImportOptions &options) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = buildModule(context, model, options);
    if (!module)
      return fail(module.takeError());
    std::string text;
    llvm::raw_string_ostream os(text);
    (*module)->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
    return write(text);
  }

  int run() {
    if (const cl::Option *option = findMisplacedFlag())
      return fail("--" + option->ArgStr + " says how to train; leave it out with --mode " +
                  nameOfMode());
    if (const cl::Option *option = findFlagOfOtherMode())
      return fail("--" + option->ArgStr +
                  (keepsCaches()
                       ? " is the form of attention without caches; leave it out with --mode "
                       : " says something of caches; it needs --mode prefill or decode, and "
                         "not --mode ") +
                  nameOfMode());
    if (const cl::Option *option = findLoraWithoutRank())
      return fail("--" + option->ArgStr + " says something of adapters; give them a --lora-rank");
    auto text = llmmem::readTextFile(input);
    if (!text)
      return fail(text.takeError());
    ImportOptions options = readOptions();
    if (llvm::Error error = readHeldFormats(options))
      return fail(std::move(error));
    if (llvm::Error error = readDecayGroups(options.training))
      return fail(std::move(error));
    bool counts = countOnly || countTrainedOnly;
    if (counts && !options.dtype) // a count is the same in any type, float16 too
      options.dtype = ElementKind::F32;
    auto model = readModel((*text)->getBuffer(), input == "-" ? "<stdin>" : input.c_str(), options);
    if (!model)
      return fail(model.takeError());
    std::vector<std::string> &notes = (*model)->facts.notes;
    if (std::string places = placesNote((*model)->facts, options); !counts && !places.empty())
      notes.push_back(places);
    for (const std::string &note : notes)
      llvm::WithColor::note(llvm::errs(), "llmmem-import") << note << '\n';
    if (counts) {
      llvm::Expected<int64_t> count =
          countTrainedOnly ? countTrained(**model, options) : countParameters(**model);
      if (!count)
        return fail(count.takeError());
      return write(llvm::Twine(*count).str() + "\n");
    }
    holdAsInFile(options, (*model)->facts);
    if (std::optional<std::string> flag = findFlagWithoutEffect(options, (*model)->facts))
      return fail(*flag);
    if (mode == Mode::Decode && (!batch.getNumOccurrences() || !context.getNumOccurrences()))
      return fail(
          "--batch and --context are needed: llmmem-import config.json --mode decode --batch "
          "16 --context 8192");
    if ((*model)->facts.image && !keepsCaches()) {
      if (!batch.getNumOccurrences())
        return fail("--batch is needed: llmmem-import config.json --batch 64");
    } else if (mode != Mode::Decode && (!batch.getNumOccurrences() || !seq.getNumOccurrences()))
      return fail("--batch and --seq are needed: llmmem-import config.json --batch 8 --seq 1024");
    if (training.gradients == llm::GradientLifetime::Transient && clipNorm > 0)
      llvm::WithColor::warning(llvm::errs(), "llmmem-import")
          << "--clip-norm needs the norm of all gradients before the first update, so they all "
             "live "
             "to the end of the backward although they are transient\n";
    return writeModule(**model, options);
  }
};
} // namespace

int llmmem::importMain(int argc, char **argv) { return ImportTool().run(argc, argv); }
