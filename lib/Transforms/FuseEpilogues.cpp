//===- FuseEpilogues.cpp - Which products take what follows them -----------===//

#include "KernelGroup.h"
#include "StepPass.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Targets/LibraryEpilogue.h"
#include "llmmem/Transforms/Epilogues.h"
#include "llmmem/Transforms/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_FUSEEPILOGUES
#include "llmmem/Transforms/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

StringRef llmmem::nameOf(Epilogues epilogues) {
  switch (epilogues) {
  case Epilogues::Auto:
    return "auto";
  case Epilogues::Separate:
    return "separate";
  case Epilogues::Unshared:
    return "unshared";
  case Epilogues::Fused:
    return "fused";
  case Epilogues::Generated:
    return "generated";
  }
  return "";
}

static bool isProduct(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Matmul;
}

/// Whether the products that `epilogues` is about take `reader`: those that a library is to
/// multiply take what it computes in the same call, the others what such libraries have.
static bool isOfLibraries(Operation *product, Operation *reader, bool keepsProduct) {
  if (isForLibrary(product))
    return llm::libraryEpilogueOf(product, reader, keepsProduct).has_value();
  auto groupable = dyn_cast<GroupableOpInterface>(reader);
  std::optional<unsigned> operand = groupable ? groupable.getEpilogueOperand() : std::nullopt;
  return operand && reader->getOperand(*operand) == product->getResult(0) &&
         llvm::hasSingleElement(llvm::make_filter_range(
             reader->getOperands(), [&](Value value) { return value == product->getResult(0); }));
}

/// Whether threads of a product can compute `op` element by element. They have few neighbours each,
/// who would share the rounds of a random stream.
static bool goesByCheapElements(Operation *op) {
  if (auto kernel = dyn_cast<llm::KernelOp>(op))
    return llvm::all_of(kernel.getBody().front().without_terminator(),
                        [](Operation &inner) { return isCheapByElements(&inner); });
  return isCheapByElements(op);
}

static bool canFollow(Operation *product, Operation *reader, Epilogues epilogues) {
  Value made = product->getResult(0);
  bool isUnshared = llvm::all_of(made.getUsers(), [&](Operation *user) { return user == reader; });
  return standTogether(product, reader) && isElementOperand(made, reader) &&
         goesByCheapElements(reader) && (isUnshared || epilogues != Epilogues::Unshared) &&
         (epilogues == Epilogues::Generated || isOfLibraries(product, reader, !isUnshared)) &&
         KernelGroup(product).with(KernelGroup(reader)).keepsLifetimes();
}

/// What a library computes as a whole has its product's workspace, what is generated has none.
static void fuse(Operation *product, Operation *follower) {
  Attribute workspace = product->getAttr(llm::LlmDialect::kLibraryWorkspace);
  Operation *kernel = makeKernel(KernelGroup(product).with(KernelGroup(follower)));
  if (workspace && cast<CostOpInterface>(kernel).multipliesMatrices())
    kernel->setAttr(llm::LlmDialect::kLibraryWorkspace, workspace);
}

/// A sum that moves to its product must not overwrite a sum so far that somebody reads in between.
static bool isReadBetween(Value into, Operation *product, Operation *sum) {
  return into && llvm::any_of(into.getUsers(), [&](Operation *user) {
           return user != sum && product->isBeforeInBlock(user) && user->isBeforeInBlock(sum);
         });
}

/// Whether a library sums the rows of what it multiplies in the same call. The product comes first,
/// so that its result, which may be large, stands no earlier than without the kernel.
static bool canSum(Operation *product, Operation *user) {
  std::optional<llm::LibrarySum> call = llm::librarySumOf(product, user);
  return call && standTogether(product, user) && product->isBeforeInBlock(user) &&
         !isReadBetween(call->sum.getInto(), product, user) &&
         KernelGroup(product).with(KernelGroup(user)).keepsLifetimes();
}

/// The nearest of `users` that `fits`, which come in no order, or null.
static Operation *nearest(Operation *product, Value::user_range users,
                          function_ref<bool(Operation *)> fits) {
  Operation *found = nullptr;
  for (Operation *user : users)
    if (user->getBlock() == product->getBlock() && fits(user) &&
        (!found || user->isBeforeInBlock(found)))
      found = user;
  return found;
}

static Operation *sumBeside(Operation *product) {
  if (!isForLibrary(product))
    return nullptr;
  for (Value factor : product->getOperands())
    if (Operation *sum = nearest(product, factor.getUsers(),
                                 [&](Operation *user) { return canSum(product, user); }))
      return sum;
  return nullptr;
}

int64_t llmmem::fuseEpilogues(func::FuncOp step, Epilogues epilogues) {
  if (epilogues == Epilogues::Auto || epilogues == Epilogues::Separate)
    return 0;
  SmallVector<Operation *> products;
  for (Operation &op : step.getBody().front().without_terminator())
    if (isProduct(&op))
      products.push_back(&op);
  int64_t fused = 0;
  for (Operation *product : products) {
    Operation *follower = nearest(product, product->getResult(0).getUsers(), [&](Operation *user) {
      return canFollow(product, user, epilogues);
    });
    if (!follower)
      follower = sumBeside(product);
    if (!follower)
      continue;
    fuse(product, follower);
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
