//===- TestOps.td - Ops of the classes that the dialect has no op of yet --------===//

#ifndef LLMMEM_UNITTESTS_DIALECT_TESTOPS
#define LLMMEM_UNITTESTS_DIALECT_TESTOPS

include "llmmem/Dialect/LlmOpBase.td"

def TestDialect : Dialect {
  let name = "test";
  let cppNamespace = "::llmmem::test";
}

class Test_Op<string mnemonic, list<Trait> traits> : Op<TestDialect, mnemonic, traits> {
  let arguments = (ins Llm_Tensor:$x);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}

def Test_PureOp : Test_Op<"pure", Llm_PureTraits>;
def Test_CollectiveOp : Test_Op<"collective", Llm_CollectiveTraits>;
def Test_ExchangeOp : Test_Op<"exchange", Llm_ExchangeTraits>;

#endif // LLMMEM_UNITTESTS_DIALECT_TESTOPS
