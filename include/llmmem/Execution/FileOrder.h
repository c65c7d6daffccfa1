//===- FileOrder.h - Where files have the elements of an argument --*- C++ -*-===//

#ifndef LLMMEM_EXECUTION_FILEORDER_H
#define LLMMEM_EXECUTION_FILEORDER_H

#include "llmmem/Execution/CompiledStep.h"

namespace llmmem {

/// Maps the elements of an argument to their places in files. A file holds an argument with
/// `llm.transposed` transposed: element (1, 0) of [3, 2], the third, is element (0, 1) of [2, 3],
/// the second.
class FileOrder {
public:
  explicit FileOrder(const StepArgument &argument)
      : transposed(argument.transposed), extents(argument.whole.getShape()) {
    if (transposed)
      std::swap(extents[0], extents[1]);
  }

  llvm::ArrayRef<int64_t> shape() const { return extents; }
  bool isTransposed() const { return transposed; }
  /// Returns the place in the file of the argument's element `number`, in row-major order.
  int64_t placeOf(int64_t number) const {
    return transposed ? number % extents[0] * extents[1] + number / extents[0] : number;
  }

private:
  bool transposed;
  llvm::SmallVector<int64_t> extents;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_FILEORDER_H
