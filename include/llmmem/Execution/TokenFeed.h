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

/// Windows of token ids: one after another, starting again at the end, or each row from its own
/// random position.
class TokenFeed final : public StepFeed {
public:
  struct Shape {
    int64_t batch = 1, seq = 1, vocabulary = 0; // `batch`: rows of all ranks
    int64_t firstRow = 0;                       // of the batch, that this rank reads
    int64_t labelSeq = 0; // of a row, where labels are a sequence of their own; else 0
    int64_t size() const { return batch * seq; }
  };

  /// Bytes as ids; hashed into the vocabulary where that has fewer than 256. Fails if the text is
  /// shorter than one batch. The text stays where it is: in a file, where it is mapped.
  static llvm::Expected<TokenFeed> fromText(llvm::StringRef file,
                                            std::unique_ptr<llvm::MemoryBuffer> text, Shape shape);
  /// Ids separated by white space. Fails at one that is no number or is outside the vocabulary,
  /// with its position.
  static llvm::Expected<TokenFeed> fromIds(llvm::StringRef file, llvm::StringRef text, Shape shape);
  /// As a file of these ids would give.
  static llvm::Expected<TokenFeed> fromIds(llvm::StringRef file, std::vector<int32_t> ids,
                                           Shape shape);

  /// What is to be predicted at the place of each id, as ids separated by white space; -100 where
  /// there is no loss. Fails at one that is neither, and where there are not as many as ids. Of a
  /// shape with `labelSeq`, as many rows of so many labels as there are whole rows of ids.
  llvm::Error readLabels(llvm::StringRef file, llvm::StringRef text);

  /// For each id a number of the sequence that it belongs to, separated by white space: where the
  /// number changes, another sequence begins, and one below 0 is padding. Nothing is predicted
  /// across the end of a sequence, and no padding is. Fails at what is no number, and where there
  /// are not as many as ids. Example: "0 0 0 1 1 -1" are a sequence of 3, one of 2, and padding.
  llvm::Error readSegments(llvm::StringRef file, llvm::StringRef text);

  /// What a batch is copied to. Each may be empty, where a step or a stage of a pipeline reads
  /// none.
  struct Batch {
    llvm::MutableArrayRef<int32_t> ids;
    /// The labels (the ids, where there are none) shifted by one within each row, the last of which
    /// is ignored (-100).
    llvm::MutableArrayRef<int32_t> targets;
    /// The labels in the places of their ids, or in rows of their own.
    llvm::MutableArrayRef<int32_t> labels;
    /// Of each id in its sequence, from 0, which begins with its row or where the segment changes.
    llvm::MutableArrayRef<int32_t> positions = {};
  };
  /// The next batch.
  void next(const Batch &to);
  /// Moves to the state after `batches` calls of `next` from the beginning.
  void seek(int64_t batches) { batch = batches; }
  /// From now on the rows of batch `n` begin at positions sampled uniformly from (`seed`, n).
  /// Neighbouring rows of a text are correlated, and a small batch of them gives a biased gradient.
  void shuffle(uint64_t seed) override { shuffleSeed = seed; }
  void fill(ModelBuffers &buffers, int64_t number) override;
  int64_t size() const override { return shape.size(); }
  std::string contentsHash() const override;

private:
  explicit TokenFeed(Shape shape) : shape(shape) {}

  size_t numIds() const { return bytes ? bytes->getBufferSize() : ids.size(); }
  int32_t idAt(size_t place) const;
  /// Where a row of the current batch begins.
  size_t beginOfRow(int64_t row) const;
  /// Whether the id behind position `i` of the current batch is another of its sequence.
  bool goesOn(size_t i) const;
  /// The place in a file of so many numbers for a position of the current batch.
  size_t placeOf(size_t i, size_t numbers) const;
  /// What is predicted for a position of the current batch: a label, or the id.
  int32_t predictedAt(size_t i) const;
  /// The label of a position of the current batch's labels.
  int32_t labelAt(size_t i) const;

  std::unique_ptr<llvm::MemoryBuffer> bytes; // of a text; null where there are `ids`
  std::vector<int32_t> idOfByte;
  std::vector<int32_t> ids, labels, segments;
  Shape shape;
  int64_t batch = 0;
  std::optional<uint64_t> shuffleSeed;
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_TOKENFEED_H
