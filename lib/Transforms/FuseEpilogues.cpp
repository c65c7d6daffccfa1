//===- FuseEpilogues.cpp - Which matmuls take what follows them -----------===//

#include "KernelGroup.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Targets/LibraryEpilogue.h"
#include "llmmem/Transforms/Epilogues.h"
#include "llmmem/Transforms/Passes.h"
#include "llmmem/Transforms/StepPass.h"

namespace llmmem {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

ArrayRef<EpiloguesName> llmmem::epiloguesNames() {
  static constexpr EpiloguesName names[] = {
      {Epilogues::Auto, "auto", "What the cheapest plan has, or for a library the cheapest step"},
      {Epilogues::Separate, "separate", "None"},
      {Epilogues::Unshared, "unshared",
       "Those that nothing else reads, where libraries have the epilogue"},
      {Epilogues::Fused, "fused", "Also those that are read again"},
      {Epilogues::Generated, "generated", "All that generated code can do"}};
  return names;
}

StringRef llmmem::nameOf(Epilogues epilogues) {
  return llvm::find_if(epiloguesNames(),
                       [&](const EpiloguesName &choice) { return choice.epilogues == epilogues; })
      ->name;
}

static bool isMatmul(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Matmul;
}

/// Returns whether the matmuls that `epilogues` is about fuse `reader`: those that a library is to
/// multiply fuse what it computes in the same call, the others what such libraries have.
static bool isOfLibraries(Operation *matmul, Operation *reader, bool keepsMatmul) {
  if (isForLibrary(matmul))
    return llm::libraryEpilogueOf(matmul, reader, keepsMatmul).has_value();
  auto groupable = dyn_cast<GroupableOpInterface>(reader);
  std::optional<unsigned> operand = groupable ? groupable.getEpilogueOperand() : std::nullopt;
  return operand && reader->getOperand(*operand) == matmul->getResult(0) &&
         llvm::hasSingleElement(llvm::make_filter_range(
             reader->getOperands(), [&](Value value) { return value == matmul->getResult(0); }));
}

/// Returns whether threads of a matmul can compute `op` element by element. They have few
/// neighbours each, who would share the rounds of a random stream.
static bool isCheapThroughout(Operation *op) {
  if (auto kernel = dyn_cast<llm::KernelOp>(op))
    return llvm::all_of(kernel.getBody().front().without_terminator(),
                        [](Operation &inner) { return isCheapElementwise(&inner); });
  return isCheapElementwise(op);
}

/// A kernel of its own finishes a sum of several parts, in bytes of the op's own.
static bool isSplit(Operation *matmul) {
  auto cost = dyn_cast<CostOpInterface>(matmul);
  return cost && cost.getWorkspaceBytes() > libraryWorkspaceBytes(matmul);
}

static bool canFollow(Operation *matmul, Operation *reader, Epilogues epilogues) {
  if (isSplit(matmul))
    return false;
  Value made = matmul->getResult(0);
  bool isUnshared = llvm::all_of(made.getUsers(), [&](Operation *user) { return user == reader; });
  return standTogether(matmul, reader) && isElementOperand(made, reader) &&
         isCheapThroughout(reader) && (isUnshared || epilogues != Epilogues::Unshared) &&
         (epilogues == Epilogues::Generated || isOfLibraries(matmul, reader, !isUnshared)) &&
         KernelGroup(matmul).with(KernelGroup(reader)).keepsLifetimes();
}

/// A library call as a whole has its matmul's workspace, and a generated kernel has none.
static void fuse(Operation *matmul, Operation *follower) {
  Attribute workspace = matmul->getAttr(llm::LlmDialect::kLibraryWorkspace);
  Operation *kernel = makeKernel(KernelGroup(matmul).with(KernelGroup(follower)));
  if (workspace && cast<CostOpInterface>(kernel).multipliesMatrices())
    kernel->setAttr(llm::LlmDialect::kLibraryWorkspace, workspace);
}

/// A sum that moves to its matmul must not overwrite an accumulator that another op reads in
/// between.
static bool isReadBetween(Value into, Operation *matmul, Operation *sum) {
  return into && llvm::any_of(into.getUsers(), [&](Operation *user) {
           return user != sum && matmul->isBeforeInBlock(user) && user->isBeforeInBlock(sum);
         });
}

/// Returns whether a library sums the rows of what it multiplies in the same call. The matmul comes
/// first, so that its result, which may be large, stands no earlier than without the kernel.
static bool canSum(Operation *matmul, Operation *user) {
  std::optional<llm::LibrarySum> call = llm::librarySumOf(matmul, user);
  return call && standTogether(matmul, user) && matmul->isBeforeInBlock(user) &&
         !isReadBetween(call->sum.getInto(), matmul, user) &&
         KernelGroup(matmul).with(KernelGroup(user)).keepsLifetimes();
}

/// Returns the nearest of `users` that `fits`, or null; `users` come in no order.
static Operation *nearest(Operation *matmul, Value::user_range users,
                          function_ref<bool(Operation *)> fits) {
  Operation *found = nullptr;
  for (Operation *user : users)
    if (user->getBlock() == matmul->getBlock() && fits(user) &&
        (!found || user->isBeforeInBlock(found)))
      found = user;
  return found;
}

static Operation *sumOfSameOperand(Operation *matmul) {
  if (!isForLibrary(matmul))
    return nullptr;
  for (Value factor : matmul->getOperands())
    if (Operation *sum = nearest(matmul, factor.getUsers(),
                                 [&](Operation *user) { return canSum(matmul, user); }))
      return sum;
  return nullptr;
}

int64_t llmmem::fuseEpilogues(func::FuncOp step, Epilogues epilogues) {
  if (epilogues == Epilogues::Auto || epilogues == Epilogues::Separate)
    return 0;
  SmallVector<Operation *> matmuls;
  for (Operation &op : step.getBody().front().without_terminator())
    if (isMatmul(&op))
      matmuls.push_back(&op);
  int64_t fused = 0;
  for (Operation *matmul : matmuls) {
    Operation *follower = nearest(matmul, matmul->getResult(0).getUsers(), [&](Operation *user) {
      return canFollow(matmul, user, epilogues);
    });
    if (!follower)
      follower = sumOfSameOperand(matmul);
    if (!follower)
      continue;
    fuse(matmul, follower);
    ++fused;
  }
  return fused;
}

namespace {
struct FuseEpiloguesPass : StepPass<llmmem::impl::FuseEpiloguesBase<FuseEpiloguesPass>> {
  using StepPass::StepPass;
  LogicalResult runOnStep(func::FuncOp step) override {
    int64_t fused = fuseEpilogues(step, which);
    numFused += fused;
    if (fused == 0)
      markAllAnalysesPreserved();
    return success();
  }
};
} // namespace
