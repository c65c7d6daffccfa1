//===- TokenIds.cpp - Whatever ids are read fill batches ---------------------------===//

#include "Readers.h"
#include "llmmem/Execution/TokenFeed.h"

using namespace llmmem;

static void feed(llvm::Expected<TokenFeed> feed, TokenFeed::Shape shape) {
  if (!feed)
    return fuzz::require(!llvm::toString(feed.takeError()).empty());
  std::vector<int32_t> ids(shape.size()), targets(shape.size());
  auto batch = [&] {
    feed->next({ids, targets, {}});
    for (size_t i = 0; i < ids.size(); ++i) {
      fuzz::require(ids[i] >= 0 && ids[i] < shape.vocabulary);
      bool isLast = (i + 1) % shape.seq == 0;
      fuzz::require(targets[i] == (isLast ? -100 : ids[i + 1]));
    }
  };
  batch();
  batch();
  feed->seek(int64_t(1) << 40);
  batch();
  feed->shuffle(7);
  batch();
}

void fuzz::readTokenIds(llvm::StringRef bytes) {
  for (TokenFeed::Shape shape : {TokenFeed::Shape{1, 1, 2}, {2, 3, 1000}, {1, 4, INT32_MAX}}) {
    feed(TokenFeed::fromIds("ids.txt", bytes, shape), shape);
    feed(TokenFeed::fromText("text.txt", llvm::MemoryBuffer::getMemBufferCopy(bytes), shape),
         shape);
  }
}
