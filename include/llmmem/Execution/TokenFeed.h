//===- TokenFeed.h - Batches of token ids from text ------------------------===//

#ifndef LLMMEM_EXECUTION_TOKENFEED_H
#define LLMMEM_EXECUTION_TOKENFEED_H

#include "llmmem/Execution/StepFeed.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <vector>

namespace llmmem {

/// Feeds windows of token ids: one after another, restarting at the end, or each row from its own
/// random position.
class TokenFeed final : public StepFeed {
public:
  struct Shape {
    int64_t batch = 1, seq = 1, vocabulary = 0; // `batch` counts the rows of all ranks.
    int64_t firstRow = 0;                       // The first row of the batch that this rank reads.
    int64_t parts = 1, part = 0; // A row is in so many equal parts, of which this rank reads one.
    int64_t labelSeq = 0; // The labels of a row, where labels are a sequence of their own; else 0.
    int64_t size() const { return batch * seq; }
  };

  /// Reads bytes as ids, hashed into the vocabulary where it has fewer than 256. Fails if the text
  /// is shorter than one batch. The text is not copied: it stays in its file, which is mapped.
  static llvm::Expected<TokenFeed> fromText(llvm::StringRef file,
                                            std::unique_ptr<llvm::MemoryBuffer> text, Shape shape);
  /// Reads ids separated by white space. Fails with the position of one that is no number or is
  /// outside the vocabulary.
  static llvm::Expected<TokenFeed> fromIds(llvm::StringRef file, llvm::StringRef text, Shape shape);
  /// Acts as a file of these ids does.
  static llvm::Expected<TokenFeed> fromIds(llvm::StringRef file, std::vector<int32_t> ids,
                                           Shape shape);

  /// Reads what is to be predicted at the place of each id, as ids separated by white space; -100
  /// means no loss. Fails at one that is neither, and where there are not as many as ids. For a
  /// shape with `labelSeq`, there must be as many rows of that many labels as there are whole rows
  /// of ids.
  llvm::Error readLabels(llvm::StringRef file, llvm::StringRef text);

  /// Reads for each id the number of its sequence, separated by white space. A new sequence begins
  /// where the number changes, and a negative number is padding. Nothing is predicted across the
  /// end of a sequence, and no padding is. Fails at what is no number, and where there are not as
  /// many as ids. Example: "0 0 0 1 1 -1" is a sequence of 3, one of 2, and padding.
  llvm::Error readSegments(llvm::StringRef file, llvm::StringRef text);

  /// Says what a batch is copied to. Each part may be empty, where a step or a stage of a pipeline
  /// does not read it.
  struct Batch {
    llvm::MutableArrayRef<int32_t> ids;
    /// Receives the labels (the ids, where there are none) shifted by one within each row. The last
    /// of a row is ignored (-100).
    llvm::MutableArrayRef<int32_t> targets;
    /// Receives the labels at the places of their ids, or in rows of their own.
    llvm::MutableArrayRef<int32_t> labels;
    /// Receives the position of each id in its sequence, from 0. A sequence begins with its row or
    /// where the segment changes.
    llvm::MutableArrayRef<int32_t> positions = {};
  };
  /// Copies the next batch.
  void next(const Batch &to);
  /// Moves to the state after `batches` calls of `next` from the beginning.
  void seek(int64_t batches) { batch = batches; }
  /// From now on samples the beginnings of the rows of batch `n` uniformly from (`seed`, n).
  /// Neighbouring rows of a text are correlated, and a small batch of them gives a biased gradient.
  void shuffle(uint64_t seed) override { shuffleSeed = seed; }
  void fill(ModelBuffers &buffers, int64_t number) override;
  int64_t size() const override { return shape.size(); }
  std::string contentsHash() const override;

private:
  explicit TokenFeed(Shape shape) : shape(shape) {}

  size_t numIds() const { return bytes ? bytes->getBufferSize() : ids.size(); }
  int32_t idAt(size_t place) const;
  size_t beginOfRow(int64_t row) const;
  /// Returns the position in the current batch of what this rank reads as the `i`-th number of rows
  /// of `length`.
  size_t positionOf(size_t i, size_t length) const;
  /// Returns the number of ids before position `i` of the current batch in the same sequence.
  int32_t countBefore(size_t i) const;
  /// Returns whether the id after position `i` of the current batch belongs to the same sequence.
  bool goesOn(size_t i) const;
  /// Returns the place in a file of `numbers` numbers for a position of the current batch.
  size_t placeOf(size_t i, size_t numbers) const;
  /// Returns what is predicted for a position of the current batch: a label, or the id.
  int32_t predictedAt(size_t i) const;
  /// Returns the label of a position of the current batch's labels.
  int32_t labelAt(size_t i) const;

  std::unique_ptr<llvm::MemoryBuffer> bytes; // The bytes of a text; null where there are `ids`.
  std::vector<int32_t> idOfByte;
  std::vector<int32_t> ids, labels, segments;
  Shape shape;
  int64_t batch = 0;
  std::optional<uint64_t> shuffleSeed;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TOKENFEED_H
