//===- ShardingOpInterface.td - How split operands split results -*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_SHARDINGOPINTERFACE
#define LLMMEM_INTERFACES_SHARDINGOPINTERFACE

include "mlir/IR/OpBase.td"

def ShardingOpInterface : OpInterface<"ShardingOpInterface"> {
  let description = [{
    Says how an op of a forward function runs on shards: by which rule the splits of its operands become those of its results,
    and what changes in it. `parallelize` refuses an op without this interface that reads something split.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"Factors of operands and results, as ShardingOpInterface.h says.", "std::string", "getShardingRule">,
    InterfaceMethod<[{
        Changes what the types alone do not say, once per op, before types change: random numbers that belong to global
        elements, a mean over what all ranks have. A result that is partial must then be an addend. `builder` stands before
        the op. Fails after a located diagnostic.
      }],
      "::llvm::LogicalResult", "localize",
      (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::llmmem::Sharding>":$operands), "",
      [{ return ::llvm::success(); }]>,
    InterfaceMethod<[{
        Where the op itself cannot run on such operands, but others that compute the same can: puts those before the op, has its
        results replaced by theirs, and says so; the caller then erases the op. A bias that must be added once, after a sum
        over ranks, is such a case.
      }],
      "bool", "separate", (ins "::mlir::OpBuilder &":$builder, "::llvm::ArrayRef<::llmmem::Sharding>":$operands), "",
      [{ return false; }]>,
    InterfaceMethod<[{
        Returns the whole of a result of which each rank of `axes` has computed its factors' part, or null where it is the sum.
        `builder` stands after the op.
      }],
      "::mlir::Value", "joinPartial",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::OpResult":$result, "::mlir::ArrayAttr":$axes), "",
      [{ return ::mlir::Value(); }]>,
  ];
}

#endif // LLMMEM_INTERFACES_SHARDINGOPINTERFACE
