//===- LlmDialect.td - The dialect of transformer steps --------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMDIALECT
#define LLMMEM_DIALECT_LLMDIALECT

include "llmmem/Dialect/LlmAnnotations.td"
include "mlir/IR/OpBase.td"

def LlmDialect : Dialect {
  let name = "llm";
  let cppNamespace = "::llmmem::llm";
  let summary = "Describes training steps of transformers on statically shaped tensors.";
  let description = [{
    The dialect has the ops that GPT-2, Llama, Mistral and Qwen2 need, forward, backward and update, and the collectives
    of ranks. All are functions of tensors: an accumulator (`into`) is a value whose bytes a result may reuse, never
    hidden state.

    Rounding. Every op computes in f32 (f64 on f64 tensors) and rounds once, when it stores a result. Sums run in a
    fixed order. So equal operands give equal bits, wherever and however often an op runs.

    Shapes. `x` is [batch, seq, width] unless an op says otherwise. Heads are adjacent in the width: head i is columns
    i*d to (i+1)*d.

    Facts of the whole step are attributes that passes leave on ops, functions, arguments and the module. The dialect
    refuses any other `llm.*` attribute, because a misspelt one would change a plan without a word.

    | attribute | on | meaning |
    |---|---|---|
}] # !foldl("", Llm_Annotations, text, a, text # "    | `llm." # a.name # "` | " # a.place.text # " | " # a.meaning # " |\n");
  let hasConstantMaterializer = 0;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let discardableAttrs = !dag(ins, !foreach(a, Llm_Annotations, a.value.storage), !foreach(a, Llm_Annotations, a.name));
  let extraClassDeclaration = !foldl("", Llm_Annotations, text, a, text #
      "  static constexpr ::llvm::StringLiteral k" # a.cpp # " = \"llm." # a.name # "\"; // " # a.meaning # "\n") # [{
  /// Lists what the verifier accepts, in the order of LlmAnnotations.td.
  static ::llvm::ArrayRef<Annotation> getAnnotations() {
    static constexpr Annotation all[] = {
}] # !foldl("", Llm_Annotations, text, a, text #
      "      {k" # a.cpp # ", \"" # a.value.expected # "\", annotation::" # a.value.check # ", " # a.place.cpp # "},\n") # [{
    };
    return all;
  }
  }];
}

#endif // LLMMEM_DIALECT_LLMDIALECT
