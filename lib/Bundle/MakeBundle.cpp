//===- MakeBundle.cpp - A planned step as data -----------------------------===//

#include "llmmem/Bundle/Bundle.h"
#include "llmmem/Codegen/Gpu/HostUpdates.h"
#include "llmmem/Conversion/LaunchList.h"
#include "llmmem/Dialect/HeadColumns.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Execution/StepRoles.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Pipelines/KernelPipelines.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
namespace json = llvm::json;

// The runner numbers them so (tools/llmmem-replay/Bundle/Bundle.h).
static constexpr int64_t kArena = -1, kHostArena = -2;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static json::Object formOf(const llmmem_product &product) {
  auto matrix = [](const llmmem_matrix_form &form) {
    return json::Object{{"type", form.type},
                        {"pitch", form.pitch},
                        {"transposed", form.transposed},
                        {"stride", form.stride},
                        {"alignment", form.alignment}};
  };
  const llmmem_product_form &form = product.form;
  json::Object object{{"rows", form.rows},           {"columns", form.columns},
                      {"inner", form.inner},         {"batch", form.batch},
                      {"a", matrix(form.a)},         {"b", matrix(form.b)},
                      {"c", matrix(form.c)},         {"epilogue", form.epilogue},
                      {"aux_pitch", form.aux_pitch}, {"workspace_bytes", form.workspace_bytes},
                      {"alpha", product.alpha}};
  if (form.initial.pitch)
    object["initial"] = matrix(form.initial);
  return object;
}

namespace {
/// Writes the calls of a list as arrays whose first item says the kind.
class CallWriter {
public:
  CallWriter(unsigned numArguments, bool hasHostArena)
      : hostArena(hasHostArena ? std::optional<unsigned>(numArguments - 1) : std::nullopt) {}

  void operator()(const Launch &launch) {
    json::Array words;
    for (LaunchWord word : launch.words)
      words.push_back(wordOf(word));
    json::Array call{
        "launch",           launch.kernel,   json::Array(launch.grid), json::Array(launch.block),
        launch.sharedBytes, std::move(words)};
    if (!launch.maps.empty())
      call.push_back(mapsOf(launch));
    calls.push_back(std::move(call));
  }

  void operator()(const LibraryCall &call) {
    json::Object form = formOf(call.product);
    std::string text = llvm::formatv("{0}", json::Value(json::Object(form))).str();
    auto [known, isNew] = numbers.try_emplace(text, forms.size());
    if (isNew)
      forms.push_back(std::move(form));
    json::Array words{"multiply", known->second};
    for (const std::optional<LaunchWord> &place :
         {call.a, call.b, call.initial, call.c, call.bias, call.aux, call.workspace})
      words.push_back(wordOrNull(place));
    calls.push_back(std::move(words));
  }

  void operator()(const HostCall &call) {
    json::Value to = wordOf(call.to), from = wordOf(call.from);
    switch (call.kind) {
    case HostCall::Kind::Copy:
      calls.push_back(json::Array{"copy", std::move(to), std::move(from), call.bytes});
      return;
    case HostCall::Kind::HostCopy:
    case HostCall::Kind::StartHostCopy:
      calls.push_back(
          json::Array{call.kind == HostCall::Kind::HostCopy ? "host_copy" : "start_host_copy",
                      std::move(to), std::move(from), call.bytes, call.direction});
      return;
    case HostCall::Kind::WaitForHostCopy:
      calls.push_back(json::Array{"wait_for_host_copy", call.direction});
      return;
    case HostCall::Kind::WaitForUpdate:
      calls.push_back(json::Array{"wait_for_update", 0});
    }
  }

  void operator()(const HostUpdateCall &call) {
    json::Array words;
    for (LaunchWord word : call.words)
      words.push_back(wordOf(word));
    calls.push_back(
        json::Array{call.isStarted ? "start_update" : "update", call.kernel, std::move(words)});
  }

  json::Value wordOrNull(const std::optional<LaunchWord> &word) {
    return word ? wordOf(*word) : json::Value(nullptr);
  }

  void operator()(const Mark &mark) { calls.push_back(json::Array{"mark", mark.number}); }

  json::Array calls, forms;

private:
  /// Returns each as its words, in the order of llmmem_tensor_map.
  static json::Array mapsOf(const Launch &launch) {
    json::Array maps;
    for (const llmmem_tensor_map &map : launch.maps)
      maps.push_back(json::Array{map.argument, map.begin, map.first_argument, map.rows, map.columns,
                                 map.pitch, map.box_rows, map.is_f16});
    return maps;
  }

  /// Argument 0 is the arena, and the last one the host's where there is one.
  json::Value wordOf(const LaunchWord &word) {
    if (!word.argument)
      return word.value;
    int64_t buffer = *word.argument == 0          ? kArena
                     : word.argument == hostArena ? kHostArena
                                                  : int64_t{*word.argument} - 1;
    return json::Array{buffer, word.value};
  }

  std::optional<unsigned> hostArena;
  llvm::StringMap<int64_t> numbers;
};
} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static json::Value valueOf(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto truth = dyn_cast<BoolAttr>(attribute))
    return truth.getValue();
  return cast<IntegerAttr>(attribute).getInt();
}

/// Returns the bytes of each buffer, and 0 for what is none.
static json::Array bytesOf(OperandRange buffers) {
  json::Array bytes;
  for (Type type : buffers.getTypes()) {
    auto buffer = dyn_cast<MemRefType>(type);
    bytes.push_back(buffer ? bytesOfBuffer(buffer) : 0);
  }
  return bytes;
}

/// What a profile says about the calls of the lowered step, and what they are given.
static json::Array timedCallsOf(func::FuncOp lowered, const LaunchList &list, CallWriter &writer) {
  json::Array timed;
  lowered.walk([&](func::CallOp call) {
    auto record = call->getAttrOfType<DictionaryAttr>(LlmDialect::kProfile);
    if (!record)
      return;
    json::Object object;
    for (NamedAttribute member : record)
      object[member.getName().getValue()] = valueOf(member.getValue());
    json::Array places;
    for (const std::optional<LaunchWord> &word : list.profiled[timed.size()])
      places.push_back(writer.wordOrNull(word));
    object["places"] = std::move(places);
    object["place_bytes"] = bytesOf(call.getOperands());
    timed.push_back(std::move(object));
  });
  return timed;
}

/// Returns where a value of the body lies: among the operands of the kernel, or after them among
/// its results.
static int64_t placeIn(llm::KernelOp kernel, Value whole) {
  if (auto argument = dyn_cast<BlockArgument>(whole))
    return argument.getArgNumber();
  return kernel.getInputs().size() +
         std::distance(kernel.getYielded().begin(), llvm::find(kernel.getYielded(), whole));
}

/// Returns where the operands and results of attention that are rows of heads or statistics lie in
/// the places of its call, in the order of the op's.
static json::Array tensorsOf(GroupableOpInterface attention, Value statistics) {
  json::Array tensors;
  auto kernel = dyn_cast<llm::KernelOp>(attention->getParentOp());
  auto add = [&](const llm::HeadColumns &columns, int64_t alone) {
    tensors.push_back(json::Object{{"place", kernel ? placeIn(kernel, columns.whole) : alone},
                                   {"begin", columns.begin},
                                   {"pitch", columns.pitch}});
  };
  for (OpOperand &operand : attention->getOpOperands())
    if (operand.get() == statistics || llm::readsHeads(operand))
      add(llm::columnsRead(operand.get()), operand.getOperandNumber());
  for (OpResult result : attention->getResults())
    add(llm::columnsWritten(result), attention->getNumOperands() + result.getResultNumber());
  return tensors;
}

/// Returns the shape of an attention that the runner computes in float64; nothing for one with more
/// features.
template <typename AttentionOp>
static std::optional<json::Object> shapeOf(AttentionOp op) {
  auto q = cast<RankedTensorType>(op.getQ().getType());
  if (op.getP().convertToDouble() > 0 || op.getSoftcap() || op.getBidirectional() ||
      op.getPositions() || op.getSharding() || q.getRank() != 3)
    return std::nullopt;
  return json::Object{{"batch", q.getDimSize(0)},
                      {"seq", q.getDimSize(1)},
                      {"heads", op.getHeads()},
                      {"kv_heads", op.getKvHeads()},
                      {"head", q.getDimSize(2) / op.getHeads()},
                      {"scale", op.getScale().convertToDouble()},
                      {"window", op.getWindow().value_or(0)},
                      {"tensors", tensorsOf(op, op.getLse())}};
}

/// Maps the keys of a profile. Kernels of one key whose rows are not contiguous have none.
static llvm::StringMap<json::Object> attentionsOf(func::FuncOp step) {
  llvm::StringMap<json::Object> shapes;
  llvm::StringSet<> differing;
  step.walk([&](Operation *op) {
    std::optional<json::Object> shape;
    if (auto forward = dyn_cast<llm::AttentionOp>(op); forward && !forward.getSinks())
      shape = shapeOf(forward);
    else if (auto gradient = dyn_cast<llm::AttentionGradOp>(op))
      shape = shapeOf(gradient);
    if (!shape)
      return;
    auto [known, isNew] = shapes.try_emplace(kernelKey(op), *shape);
    if (!isNew && known->second != *shape)
      differing.insert(known->first());
  });
  for (const auto &key : differing)
    shapes.erase(key.getKey());
  return shapes;
}

/// Returns which of the values that the key of a kernel numbers are its results.
static json::Array yieldsOf(llm::KernelOp kernel) {
  llvm::DenseMap<Value, int64_t> numbers;
  Block &body = kernel.getBody().front();
  for (Value argument : body.getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : body)
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
  return json::Array(llvm::map_range(body.getTerminator()->getOperands(),
                                     [&](Value value) { return numbers.lookup(value); }));
}

/// Maps the keys of a profile. Kernels of one key that differ in this have none.
static llvm::StringMap<json::Value> yieldsOfKernels(func::FuncOp step) {
  llvm::StringMap<json::Value> yields;
  step.walk([&](llm::KernelOp kernel) {
    json::Value own = yieldsOf(kernel);
    auto [known, isNew] = yields.try_emplace(kernelKey(kernel), own);
    if (!isNew && known->second != own)
      known->second = nullptr;
  });
  return yields;
}

namespace {
class BundleMaker {
public:
  BundleMaker(ModuleOp module, const BundleOptions &options) : module(module), options(options) {}

  FailureOr<json::Object> make() {
    auto step = module.lookupSymbol<func::FuncOp>(options.function);
    if (!step || !step->hasAttr(LlmDialect::kArena)) {
      module.emitError("has no planned function '") << options.function << "' to bundle";
      return failure();
    }
    if (failed(check(step)))
      return failure();
    FailureOr<json::Array> buffers = describeBuffers(step);
    if (failed(buffers))
      return failure();
    json::Array programs;
    for (MatmulSource products : {MatmulSource::Generated, MatmulSource::Library}) {
      if (products == MatmulSource::Library && !options.withLibrary)
        continue;
      // Kernels with wgmma have other launches, and images for their chips alone.
      for (bool byWarpgroup : {false, true}) {
        auto ofChip = [&](const std::string &chip) {
          return isByWarpgroup(tensorCoresOf(chip)) == byWarpgroup;
        };
        if (llvm::none_of(options.chips, ofChip))
          continue;
        FailureOr<json::Object> program = makeProgram(products, byWarpgroup);
        if (failed(program))
          return failure();
        programs.push_back(std::move(*program));
      }
    }
    auto hostArena = step->getAttrOfType<IntegerAttr>(LlmDialect::kHostArena);
    return json::Object{{"format", "llmmem-bundle"},
                        {"version", 1},
                        {"arena", step->getAttrOfType<IntegerAttr>(LlmDialect::kArena).getInt()},
                        {"host_arena", hostArena ? hostArena.getInt() : 0},
                        {"vocabulary", llvm::cantFail(StepRoles::find(step)).vocabulary},
                        {"loss", lossOf(step)},
                        {"buffers", std::move(*buffers)},
                        {"programs", std::move(programs)}};
  }

private:
  LogicalResult check(func::FuncOp step) {
    if (step->hasAttr(LlmDialect::kMesh) || step->hasAttr(LlmDialect::kStage) ||
        step->hasAttr(LlmDialect::kMicroBatches))
      return step.emitError("is of several ranks, stages or micro-batches; a bundle holds a step "
                            "of one function on one device");
    auto loss = step.getNumResults() > 0 ? dyn_cast<RankedTensorType>(step.getResultTypes()[0])
                                         : RankedTensorType();
    for (unsigned number = 0; loss && number < step.getNumArguments(); ++number)
      if (auto donated = step.getArgAttrOfType<IntegerAttr>(number, LlmDialect::kDonated))
        if (donated.getInt() == 0)
          loss = {};
    if (!loss || loss.getNumElements() != 1 || !isa<FloatType>(loss.getElementType()))
      return step.emitError("has a first result that is no loss: expected a scalar that is not "
                            "donated");
    return success();
  }

  /// The first result has the first buffer after the arguments.
  static int64_t lossOf(func::FuncOp step) { return step.getNumArguments(); }

  FailureOr<json::Object> makeProgram(MatmulSource products, bool byWarpgroup) {
    OwningOpRef<ModuleOp> clone = module.clone();
    for (auto function : llvm::make_early_inc_range(clone->getOps<func::FuncOp>()))
      if (function.getName() != options.function)
        function.erase();
    auto step = module.lookupSymbol<func::FuncOp>(options.function);
    llvm::StringMap<json::Object> attentions = attentionsOf(step);
    llvm::StringMap<json::Value> yields = yieldsOfKernels(step);
    bool hasHostArena =
        clone->lookupSymbol<func::FuncOp>(options.function)->hasAttr(LlmDialect::kHostArena);
    ConvertStepToKernelsOptions conversion;
    conversion.function = options.function;
    conversion.products = products;
    conversion.tensorCores = byWarpgroup ? options.warpgroups : TensorCores::Warp;
    conversion.tileSharing = options.tileSharing;
    conversion.tile = options.tile;
    conversion.profile = true;
    conversion.target = KernelTarget::Gpu;
    PassManager manager(module.getContext());
    manager.addPass(createConvertStepToKernels(conversion));
    manager.addPass(createGpuKernelOutliningPass());
    if (failed(manager.run(*clone)))
      return failure();
    auto lowered = clone->lookupSymbol<func::FuncOp>(options.function);
    FailureOr<LaunchList> list = listLaunches(lowered);
    if (failed(list))
      return failure();
    CallWriter writer(lowered.getNumArguments(), hasHostArena);
    for (const auto &call : list->calls)
      std::visit(writer, call);
    json::Array timed = timedCallsOf(lowered, *list, writer);
    for (json::Value &value : timed) {
      json::Object &call = *value.getAsObject();
      StringRef key = *call.getString("key");
      if (auto shape = attentions.find(key); shape != attentions.end())
        call["attention"] = json::Object(shape->second);
      if (auto yield = yields.find(key); yield != yields.end())
        call["yields"] = yield->second;
    }
    json::Object program{{"products", products == MatmulSource::Library ? "library" : "generated"}};
    if (failed(addKernels(*clone, *list, byWarpgroup, program)) ||
        failed(addUpdates(*clone, *list, program)))
      return failure();
    program["forms"] = std::move(writer.forms);
    program["timed"] = std::move(timed);
    program["calls"] = std::move(writer.calls);
    return program;
  }

  /// Adds kernels, and an image of each of their modules for each chip that the program is for.
  LogicalResult addKernels(ModuleOp outlined, const LaunchList &list, bool byWarpgroup,
                           json::Object &program) {
    llvm::MapVector<StringRef, json::Array> images;
    for (const auto &[name, kernel] : list.kernels)
      images.insert({name, {}});
    for (const std::string &chip : options.chips) {
      if (isByWarpgroup(tensorCoresOf(chip)) != byWarpgroup)
        continue;
      OwningOpRef<ModuleOp> clone = outlined.clone();
      PassManager manager(module.getContext());
      buildGpuKernelsToNVVMPipeline(manager, chip);
      if (failed(manager.run(*clone)))
        return failure();
      for (auto binary : clone->getOps<gpu::BinaryOp>()) {
        auto *known = images.find(binary.getName());
        if (known == images.end())
          continue;
        StringRef ptx = cast<gpu::ObjectAttr>(binary.getObjects()[0]).getObject().getValue();
        llvm::Expected<json::Object> image = writeImage(ptx, chip, options);
        if (!image)
          return binary.emitError(llvm::toString(image.takeError()));
        known->second.push_back(std::move(*image));
      }
    }
    json::Array kernels, modules;
    for (const auto &[name, kernel] : list.kernels) {
      auto at = static_cast<int64_t>(images.find(name) - images.begin());
      kernels.push_back(json::Object{{"module", at}, {"name", kernel}});
    }
    for (auto &[name, own] : images)
      modules.push_back(json::Object{{"images", std::move(own)}});
    program["kernels"] = std::move(kernels);
    program["modules"] = std::move(modules);
    return success();
  }

  /// Returns the first update on the host.
  Operation *firstUpdate() {
    Operation *first = nullptr;
    module.lookupSymbol(options.function)->walk([&](Operation *op) {
      first = llm::runsOnHost(op) ? op : nullptr;
      return first ? WalkResult::interrupt() : WalkResult::advance();
    });
    return first;
  }

  /// Adds the code that the host runs, in a library of its own.
  LogicalResult addUpdates(ModuleOp outlined, const LaunchList &list, json::Object &program) {
    if (list.updates.empty())
      return success();
    OwningOpRef<ModuleOp> host = outlined.clone();
    json::Array names;
    llvm::DenseSet<Operation *> kept;
    for (const std::string &name : list.updates) {
      auto kernel = host->lookupSymbol<func::FuncOp>(name);
      func::FuncOp entry = wordsEntryOf(kernel);
      kept.insert(kernel);
      kept.insert(entry);
      names.push_back(entry.getName());
    }
    for (Operation &op : llvm::make_early_inc_range(host->getOps()))
      if (!kept.contains(&op) && !isa<memref::GlobalOp>(op))
        op.erase();
    (*host)->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
    llvm::Expected<json::Object> code = writeHostCode(*host, options);
    if (!code)
      return firstUpdate()->emitOpError("runs on the host: ") << llvm::toString(code.takeError());
    (*code)["functions"] = std::move(names);
    program["host_code"] = std::move(*code);
    return success();
  }

  ModuleOp module;
  const BundleOptions &options;
};
} // namespace

FailureOr<json::Object> llmmem::makeBundle(ModuleOp module, const BundleOptions &options) {
  return BundleMaker(module, options).make();
}
