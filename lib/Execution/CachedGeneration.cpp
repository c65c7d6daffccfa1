//===- CachedGeneration.cpp - Tokens from a step with caches ----------------===//

#include "llmmem/Execution/CachedGeneration.h"
#include "llmmem/Execution/TensorBytes.h"

using namespace llmmem;

/// Returns the tokens of a sequence that a step takes at a time.
static int64_t tokensOfStep(const CompiledStep &step, const StepRoles &roles) {
  return step.arguments()[*roles.ids].type.getShape().back();
}

/// A step with caches returns floats of [batch, 1, vocabulary] first.
static llvm::Error checkStep(const CompiledStep &step, const StepRoles &roles) {
  if (llvm::Error error = roles.checkWritesText())
    return error;
  if (roles.ids && roles.lengths && !step.results().empty()) {
    mlir::RankedTensorType ids = step.arguments()[*roles.ids].type,
                           logits = step.results().front().type;
    if (ids.getRank() == 2 && logits.getRank() == 3 && logits.getDimSize(0) == ids.getDimSize(0) &&
        logits.getDimSize(1) == 1 && logits.getDimSize(2) == roles.vocabulary &&
        floatKindOf(logits.getElementType()))
      return llvm::Error::success();
  }
  return llvm::createStringError("it has no 'ids' and 'lengths', or does not return logits of "
                                 "[batch, 1, vocabulary] first: llmmem-import config.json --mode "
                                 "decode --batch 1 --context 256 makes such a step");
}

CachedGeneration::CachedGeneration(ModelBuffers decode, int64_t batch, int64_t context)
    : decode(std::move(decode)), longest(context), lengths(batch), logitsOf(batch) {}

llvm::Expected<CachedGeneration> CachedGeneration::create(const CompiledStep &decode,
                                                          StepRoles roles, int64_t context) {
  if (llvm::Error error = checkStep(decode, roles))
    return std::move(error);
  int64_t batch = decode.arguments()[*roles.ids].type.getDimSize(0);
  std::optional<unsigned> table = roles.pages;
  std::optional<unsigned> cache =
      roles.caches.empty() ? std::nullopt : std::optional(roles.caches.front());
  llvm::Expected<ModelBuffers> buffers = ModelBuffers::allocate(decode, std::move(roles));
  if (!buffers)
    return buffers.takeError();
  CachedGeneration generation(std::move(*buffers), batch, context);
  if (table && cache) {
    mlir::RankedTensorType type = decode.arguments()[*cache].type;
    generation.pages.emplace(type.getDimSize(0), type.getDimSize(1), batch,
                             decode.arguments()[*table].type.getDimSize(1));
  }
  return std::move(generation);
}

llvm::Error CachedGeneration::addPrefill(const CompiledStep &step, StepRoles roles) {
  if (llvm::Error error = checkStep(step, roles))
    return error;
  if (!roles.counts || step.arguments()[*roles.ids].type.getDimSize(0) != batch())
    return llvm::createStringError("it takes no 'counts' of tokens, or has another number of "
                                   "sequences: import both steps with the same --batch, the first "
                                   "one with --mode prefill");
  llvm::Expected<ModelBuffers> buffers = ModelBuffers::allocateSharing(decode, step, roles);
  if (!buffers)
    return llvm::joinErrors(buffers.takeError(),
                            llvm::createStringError("import both steps with the same --context, "
                                                    "--page, --pages and --dtype"));
  prefill.emplace(std::move(*buffers));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

llvm::Error CachedGeneration::check(llvm::ArrayRef<Tokens> tokens) const {
  if (static_cast<int64_t>(tokens.size()) > batch())
    return llvm::createStringError(llvm::Twine(tokens.size()) + " sequences are given, and the " +
                                   "step has " + llvm::Twine(batch()) +
                                   "; import it with a larger --batch");
  for (auto [sequence, list] : llvm::enumerate(tokens)) {
    auto count = static_cast<int64_t>(list.size());
    if (count > longest - lengths[sequence])
      return llvm::createStringError("sequence " + llvm::Twine(sequence) + " would have " +
                                     llvm::Twine(lengths[sequence] + count) +
                                     " tokens, and the step's context is " + llvm::Twine(longest) +
                                     "; import it with a larger --context");
    for (int32_t token : list)
      if (token < 0 || token >= vocabulary())
        return llvm::createStringError("token " + llvm::Twine(token) +
                                       " is not in the vocabulary "
                                       "of " +
                                       llvm::Twine(vocabulary()));
  }
  return llvm::Error::success();
}

llvm::Error CachedGeneration::feed(llvm::ArrayRef<Tokens> tokens) {
  if (llvm::Error error = check(tokens))
    return error;
  llvm::SmallVector<llvm::ArrayRef<int32_t>> rest(tokens.begin(), tokens.end());
  auto isDone = [](llvm::ArrayRef<int32_t> list) { return list.empty(); };
  auto isSingle = [](llvm::ArrayRef<int32_t> list) { return list.size() <= 1; };
  while (!llvm::all_of(rest, isDone)) {
    ModelBuffers &step = prefill && !llvm::all_of(rest, isSingle) ? *prefill : decode;
    auto most = static_cast<size_t>(tokensOfStep(step.compiled(), step.argumentRoles()));
    llvm::SmallVector<llvm::ArrayRef<int32_t>> taken;
    for (llvm::ArrayRef<int32_t> &list : rest) {
      taken.push_back(list.take_front(most));
      list = list.drop_front(taken.back().size());
    }
    if (llvm::Error error = runStep(step, taken))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error CachedGeneration::runStep(ModelBuffers &step,
                                      llvm::ArrayRef<llvm::ArrayRef<int32_t>> tokens) {
  const StepRoles &roles = step.argumentRoles();
  int64_t seq = tokensOfStep(step.compiled(), roles);
  llvm::MutableArrayRef<int32_t> ids = step.integers(*roles.ids),
                                 before = step.integers(*roles.lengths);
  llvm::fill(ids, 0);
  llvm::fill(before, -1); // A sequence without tokens pauses.
  if (roles.counts)
    llvm::fill(step.integers(*roles.counts), 0);
  for (auto [sequence, list] : llvm::enumerate(tokens)) {
    if (list.empty())
      continue;
    llvm::copy(list, ids.begin() + static_cast<ptrdiff_t>(sequence * seq));
    before[sequence] = static_cast<int32_t>(lengths[sequence]);
    if (roles.counts)
      step.integers(*roles.counts)[sequence] = static_cast<int32_t>(list.size());
    lengths[sequence] += static_cast<int64_t>(list.size());
    if (llvm::Error error =
            pages ? pages->reach(sequence, lengths[sequence]) : llvm::Error::success())
      return error;
  }
  if (pages)
    llvm::copy(pages->table(), step.integers(*roles.pages).begin());
  if (llvm::Error error = step.run())
    return error;
  for (auto [sequence, list] : llvm::enumerate(tokens))
    if (!list.empty())
      readLogits(step, static_cast<int64_t>(sequence));
  return llvm::Error::success();
}

void CachedGeneration::readLogits(ModelBuffers &step, int64_t sequence) {
  mlir::RankedTensorType type = step.compiled().results().front().type;
  FloatKind kind = *floatKindOf(type.getElementType());
  int64_t width = type.getDimSize(2);
  const char *row =
      static_cast<const char *>(step.stepMemory().result(0)) + sequence * width * bytesOf(kind);
  logitsOf[sequence].resize(width);
  convertFloats(kind, row, FloatKind::F64, logitsOf[sequence].data(), width);
}

CacheUse CachedGeneration::use() const {
  if (pages)
    return pages->use();
  CacheUse use{batch() * longest, 0, 0};
  for (int64_t length : lengths) {
    use.used += length;
    use.wasted += length > 0 ? longest - length : 0;
  }
  return use;
}
