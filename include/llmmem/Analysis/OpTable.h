//===- OpTable.h - What ops of other compilers cost and do, by name --------===//
//
// A graph of StableHLO, MHLO or CHLO is read without these dialects' libraries: its ops are
// unregistered, and all that is known about one is its name, its types, its attributes and what an
// op table says about the name. A table is JSON (docs/Design/Graphs.md):
//
//   {"format": "llmmem-op-table", "version": 1,
//    "ops": [{"dialects": ["stablehlo"], "ops": ["add"], "flops_per_element": 1,
//             "in_place": "elements"},
//            {"ops": ["stablehlo.custom_call"], "targets": ["my.softmax"], "flops_per_element":
//            5}]}
//
// llmmem ships lib/Analysis/OpTables/stablehlo.json. Of two entries for one name the later holds,
// and those of a file that is loaded hold over the shipped ones.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_OPTABLE_H
#define LLMMEM_ANALYSIS_OPTABLE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Says where the FLOPs of one run come from.
enum class FlopRule {
  Elements,    // a number for each element of the results
  Product,     // a number times extents of operands
  DotGeneral,  // 2 * elements of the result * contracted extents
  Dot,         // the same, contracting the left operand's last dimension
  Convolution, // 2 * elements of the result * extents of the kernel but its output features
  Reduce,      // elements of the first operand * ops in the region
  Window,      // elements of the result * extents of the window * ops in the region
  Sort,        // n log2 n * ops in the region
  Branches,    // the dearest region
  Loop,        // trip count * the body
};

/// Says which bytes one run moves.
enum class ByteRule {
  All,     // every operand and every result once
  Results, // each element of the results read and written: a gather reads no more than it gives
  Updates, // the last operand read and written into the first, which is overwritten in place
  None,
};

/// Says what one run sends to other devices, by a ring over the n devices of a group, for S bytes
/// of the whole value (DeviceModel.h).
enum class TransferRule {
  None,
  AllReduce, // 2(n-1) messages, 2(n-1)/n S bytes
  Gather,    // n-1 messages, (n-1)/n S bytes; S of the results
  Scatter,   // the same; S of the operands
  Permute,   // one message of S bytes
};

/// Says what a result may overwrite.
enum class InPlaceRule {
  None,
  Elements, // operands of its shape and element size: element by element
  First,    // the first operand
  Each,     // result i operand i
};

struct OpTableEntry {
  FlopRule flops = FlopRule::Elements;
  int64_t flopsPerElement = 0;
  int64_t factor = 1; // of a product, whose extents are (operand, dimension)
  std::vector<std::pair<int64_t, int64_t>> extents;
  ByteRule bytes = ByteRule::All;
  InPlaceRule inPlace = InPlaceRule::None;
  TransferRule transfer = TransferRule::None;
  bool isPure = true;      // running it twice gives the same bits and changes nothing else
  bool isConstant = false; // its results are held throughout
  bool isView = false;     // result i is a view of operand i
  std::string refusal;     // why no step can have it; empty: it can
};

class OpTable {
public:
  /// Returns the table in `file`, whose entries take precedence, with the shipped one; only the
  /// shipped one where `file` is empty. An error names the file, the line and the key.
  static llvm::Expected<OpTable> load(llvm::StringRef file);
  /// Adds the entries of a text; `where` names it in errors.
  llvm::Error add(llvm::StringRef json, llvm::StringRef where);

  /// Returns what the table says about `op`; null where it says nothing. An op with
  /// `call_target_name` is looked up by its target first.
  const OpTableEntry *find(mlir::Operation *op) const;

  /// Returns the entry of an op of which nothing is known: it moves its bytes, and runs once.
  static const OpTableEntry &byBytes();
  bool pricesByBytes = false; // what stands in a region and has no other entry

private:
  llvm::StringMap<OpTableEntry> entries; // "stablehlo.add", "stablehlo.custom_call:my.softmax"
};

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_OPTABLE_H
