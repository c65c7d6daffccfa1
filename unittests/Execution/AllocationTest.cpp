//===- AllocationTest.cpp - A step allocates nothing while it runs ----------===//

#include "SequentialPlan.h"
#include "StepRunner.h"
#include "llmmem/Runtime/Parallel.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>

//===----------------------------------------------------------------------===//
// Every allocation of this program is counted
//===----------------------------------------------------------------------===//

static std::atomic<int64_t> allocations = 0;

// What glibc's own functions do, under the names that it keeps for those who take their place.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  ++allocations;
  *result = __libc_memalign(alignment, size);
  return *result ? 0 : ENOMEM;
}
}

using namespace llmmem;

namespace {

/// Large enough that its kernels distribute their work over threads.
constexpr const char *kStep = R"(
func.func @step(%x: tensor<2x128x64xf32>, %w: tensor<64x192xf32>, %b: tensor<192xf32>)
    -> (tensor<2x128x64xf32>, tensor<64x192xf32>) {
  %h = llm.linear %x, %w bias(%b) layout(in_out)
    : (tensor<2x128x64xf32>, tensor<64x192xf32>, tensor<192xf32>) -> tensor<2x128x192xf32>
  %g = llm.gelu %h : tensor<2x128x192xf32>
  %y = llm.linear %g, %w layout(out_in)
    : (tensor<2x128x192xf32>, tensor<64x192xf32>) -> tensor<2x128x64xf32>
  %o, %lse = llm.attention %y, %y, %y {heads = 2 : i64, kv_heads = 2 : i64, scale = 0.25 : f64}
    : (tensor<2x128x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>)
    -> (tensor<2x128x64xf32>, tensor<2x2x128xf32>)
  %dw = llm.linear_weight_grad %o, %g layout(in_out)
    : (tensor<2x128x64xf32>, tensor<2x128x192xf32>) -> tensor<64x192xf32>
  return %o, %dw : tensor<2x128x64xf32>, tensor<64x192xf32>
})";

TEST(Allocation, NothingIsAllocatedWhileAStepRuns) {
  mlir::DialectRegistry registry;
  registerExecution(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  ASSERT_TRUE(module);
  planSequentially(module->lookupSymbol<mlir::func::FuncOp>("step"));
  mlir::FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(*module);
  ASSERT_TRUE(mlir::succeeded(step));
  StepMemory memory = llvm::cantFail(StepMemory::allocate(**step));
  int before = llmmem_threads();
  for (int threads : {1, 2}) {
    llmmem_set_threads(threads);
    // Threads start at the first loop that needs them.
    ASSERT_TRUE(mlir::succeeded((*step)->run(memory)));
    int64_t counted = allocations;
    ASSERT_TRUE(mlir::succeeded((*step)->run(memory)));
    EXPECT_EQ(allocations - counted, 0) << threads << " threads";
  }
  llmmem_set_threads(before);
}

TEST(Allocation, AllocationsAreSeen) {
  int64_t counted = allocations;
  std::free(std::aligned_alloc(64, 64));
  volatile size_t size = 100; // not known to the compiler, which may leave out an allocation
  delete[] new char[size];
  EXPECT_GE(allocations - counted, 1);
}

} // namespace
