//===- SharedFile.cpp - One file that all ranks write ----------------------===//

#include "SharedFile.h"
#include "llmmem/Execution/RankJob.h"
#include <array>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace llmmem;

SharedFile::~SharedFile() { discard(); }

void SharedFile::discard() {
  if (!temporary && descriptor >= 0)
    close(descriptor);
  temporary.reset();
  descriptor = -1;
}

static std::error_code lastError() { return {errno, std::generic_category()}; }

/// Returns the first failure of all ranks, with the rank.
llvm::Error SharedFile::agree(std::error_code code, const char *what) {
  std::vector<int64_t> codes = RankJob::gather({code.value()});
  for (auto [rank, value] : llvm::enumerate(codes)) {
    if (value == 0)
      continue;
    discard();
    RankJob::gather({0}); // A rank that fails ends the job, even before the temporary is removed.
    return llvm::createStringError(
        "rank " + llvm::Twine(rank) + " cannot " + what + " '" + path +
        "': " + std::error_code(static_cast<int>(value), std::generic_category()).message());
  }
  return llvm::Error::success();
}

std::error_code SharedFile::writeAt(llvm::StringRef bytes, int64_t offset) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return lastError();
    bytes = bytes.drop_front(written);
    offset += written;
  }
  return {};
}

/// On the first rank, gives the file its final length, so that a full disk is found at once.
std::error_code SharedFile::begin(llvm::StringRef header, int64_t bytes) {
  llvm::ErrorOr<std::string> target = resolveTarget(path);
  if (!target)
    return target.getError();
  llvm::Expected<TemporaryFile> made = TemporaryFile::create(*target);
  if (!made)
    return llvm::errorToErrorCode(made.takeError());
  temporary.emplace(std::move(*made));
  descriptor = temporary->descriptor();
  if (int failed = posix_fallocate(descriptor, 0, static_cast<off_t>(header.size()) + bytes))
    return {failed, std::generic_category()};
  return writeAt(header, 0);
}

/// The first rank makes the file, and tells the others its name.
llvm::Error SharedFile::create(llvm::StringRef header, int64_t bytes) {
  std::error_code code;
  std::array<int64_t, 512> name = {};
  if (RankJob::rank() == 0) {
    code = begin(header, bytes);
    if (temporary)
      std::memcpy(name.data(), temporary->path().data(),
                  std::min(temporary->path().size(), sizeof name - 1));
  }
  if (llvm::Error error = agree(code, "create a file next to"))
    return error;
  std::vector<int64_t> names = RankJob::gather(name);
  if (RankJob::rank() != 0) {
    descriptor = open(reinterpret_cast<const char *>(names.data()), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      code = lastError();
  }
  return agree(code, "open the temporary of");
}

/// The unsharded tensor begins at `begin`.
std::error_code SharedFile::writeRuns(const TensorEntry &tensor, int64_t begin) {
  const Shard &shard = tensor.shard;
  if (shard.areInOrder())
    return writeAt(tensor.bytes,
                   begin + shard.position() * static_cast<int64_t>(tensor.bytes.size()));
  std::error_code code;
  int64_t bytes = bytesOfElement(tensor);
  shard.forEachRun(shard.position(), [&](Shard::Run run) {
    if (!code)
      code = writeAt(tensor.bytes.substr(run.part * bytes, run.count * bytes),
                     begin + run.whole * bytes);
  });
  return code;
}

llvm::Error SharedFile::write(llvm::ArrayRef<TensorEntry> tensors, const FileContents &contents,
                              int64_t begin) {
  std::error_code code;
  for (const TensorEntry &tensor : tensors) {
    auto line = contents.tensors.find(tensor.name);
    if (!code && line != contents.tensors.end() && RankJob::isFirstWith(tensor.shard))
      code = writeRuns(tensor, begin + line->second.begin);
  }
  if (!code && fsync(descriptor) != 0)
    code = lastError();
  return agree(code, "write");
}

llvm::Error SharedFile::rename() {
  std::error_code code;
  if (temporary)
    code = temporary->keep();
  discard();
  return agree(code, "rename a temporary to");
}

llvm::Error SharedFile::writeWhole(llvm::StringRef path, llvm::StringRef header,
                                   llvm::ArrayRef<TensorEntry> tensors,
                                   const FileContents &contents) {
  SharedFile file(path);
  if (llvm::Error error = file.create(header, contents.bytes))
    return error;
  if (llvm::Error error = file.write(tensors, contents, static_cast<int64_t>(header.size())))
    return error;
  return file.rename();
}
