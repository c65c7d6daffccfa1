//===- RankModelReader.h - A rank's program, read by parts -----------------===//

#ifndef LLMMEM_LIB_STRATEGIES_RANKMODELREADER_H
#define LLMMEM_LIB_STRATEGIES_RANKMODELREADER_H

#include "llmmem/Strategies/RankProgram.h"
#include "llvm/ADT/StringMap.h"

namespace llmmem {

/// Says to which part an op or an argument belongs: a block's number, or one of these.
enum PartNumber : int64_t {
  kFirstPart = -1,  // Before the blocks.
  kLastPart = -2,   // After them.
  kTiedPart = -3,   // In both, as a tied embedding.
  kSharedPart = -4, // Reads what belongs to several.
  kNoPart = -5      // Inputs, which every rank has.
};

class RankModelReader {
public:
  RankModelReader(const StepSettings &settings, const DeviceModel &device)
      : settings(settings), device(device) {}

  /// Fails after a diagnostic.
  llvm::FailureOr<RankModel> read(mlir::ModuleOp few, const RankShape &shape);

private:
  /// Holds sums over the parts of a model of three blocks.
  struct Parts {
    PartModel first, blocks[3], last, tied, shared, inputs;
    PartModel &of(int64_t part);
    void fold();
  };

  void findOwners(mlir::func::FuncOp step);
  int64_t ownerOf(mlir::BlockArgument argument) const;
  llvm::DenseMap<mlir::Operation *, int64_t> partsOf(mlir::func::FuncOp step) const;
  void addResidents(mlir::func::FuncOp step, Parts &parts) const;
  /// `exposed` is `problem` with costs that add up to its time.
  void addCosts(const ExtractedProblem &extracted, const planning::Problem &problem,
                const planning::Problem &exposed, mlir::func::FuncOp function, Parts &parts) const;
  void addCost(PartModel &part, mlir::Operation *op, const planning::Op &given, int64_t exposedNs,
               bool isUpdate, bool isOfWeights) const;
  std::vector<int64_t> tiedGradients(mlir::func::FuncOp step) const;
  void addChoices(const StepVariant &alternative, const Parts &update, RankModel &model) const;
  llvm::FailureOr<std::vector<StepVariant>> alternativesOf(mlir::func::FuncOp function) const;

  const StepSettings &settings;
  const DeviceModel &device;
  llvm::StringMap<int64_t> ownerOfArgument; // Indexed by the names of parameters and inputs.
};

} // namespace llmmem

#endif // LLMMEM_LIB_STRATEGIES_RANKMODELREADER_H
