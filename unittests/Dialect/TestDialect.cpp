//===- TestDialect.cpp - Ops of the classes that the dialect has no op of yet =//

#include "TestDialect.h"
#include "llmmem/Execution/CompiledStep.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace llmmem;

void test::TestDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "TestOps.cpp.inc"
      >();
}

std::unique_ptr<MLIRContext> test::testContext() {
  DialectRegistry registry;
  registerExecution(registry);
  registry.insert<TestDialect>();
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

OwningOpRef<ModuleOp> test::parse(StringRef text, MLIRContext &context) {
  return parseSourceString<ModuleOp>(text, &context);
}

int64_t test::countOps(Operation *root, StringRef name) {
  int64_t count = 0;
  root->walk([&](Operation *op) { count += op->getName().getStringRef() == name; });
  return count;
}

#include "TestDialect.cpp.inc"

#define GET_OP_CLASSES
#include "TestOps.cpp.inc"
