//===- ReadFile.cpp - Read whole files that come to an end ------------------===//

#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llmmem;

/// A stream is held in memory, where a file is mapped.
static constexpr uint64_t kMostOfStream = uint64_t(1) << 30;
/// A program that is started together with this one opens its end of a FIFO within a fraction of a
/// second.
static constexpr int kWriterSeconds = 2;

static uint64_t mostBytesOf(FileKind kind) {
  switch (kind) {
  case FileKind::Description:
    return uint64_t(1) << 28;
  case FileKind::Program:
    return uint64_t(1) << 32;
  case FileKind::Data:
    return INT64_MAX;
  }
}

static llvm::Error cannotRead(llvm::StringRef path, const llvm::Twine &why) {
  return llvm::createStringError("cannot read '" + path + "': " + why);
}

static llvm::Error cannotRead(llvm::StringRef path, int code) {
  std::error_code error(code, std::generic_category());
  return llvm::createStringError(error, "cannot read '" + path + "': " + error.message());
}

namespace {
/// Holds the bytes of a file and a zero, without a copy: the file is mapped over the front of pages
/// of zeros, the last of which stays one.
class MappedFile final : public llvm::MemoryBuffer {
public:
  static std::unique_ptr<MappedFile> map(int descriptor, size_t bytes, llvm::StringRef name) {
    const size_t size = llvm::alignTo(bytes + 1, sysconf(_SC_PAGESIZE));
    void *pages = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
      return nullptr;
    std::unique_ptr<MappedFile> file(new MappedFile(static_cast<char *>(pages), size, name));
    if (mmap(pages, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED)
      return nullptr;
    file->init(file->pages, file->pages + bytes, /*RequiresNullTerminator=*/true);
    return file;
  }

  ~MappedFile() override { munmap(pages, size); }
  llvm::StringRef getBufferIdentifier() const override { return name; }
  BufferKind getBufferKind() const override { return MemoryBuffer_MMap; }

private:
  MappedFile(char *pages, size_t size, llvm::StringRef name)
      : pages(pages), size(size), name(name) {}

  char *pages;
  size_t size;
  std::string name;
};

/// Reads what a descriptor gives until its end.
class Stream {
public:
  Stream(int descriptor, llvm::StringRef path, FileKind kind)
      : descriptor(descriptor), path(path), most(std::min(mostBytesOf(kind), kMostOfStream)) {}

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read(llvm::StringRef name) {
    llvm::SmallVector<char, 0> text;
    while (text.size() <= most) {
      const ssize_t got = readPiece(text);
      const int code = errno;
      if (got == 0 && awaitsWriter)
        return cannotRead(path, "it is a pipe that no program has opened for writing within " +
                                    llvm::Twine(kWriterSeconds) +
                                    " seconds; start that program first, or name a file");
      if (got == 0)
        return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(text), name);
      if (got < 0 && code != EINTR && code != EAGAIN)
        return cannotRead(path, code);
      awaitsWriter = false;
      if (got < 0 && code == EAGAIN)
        wait(-1);
    }
    return cannotRead(path, "it goes on after " + formatByteSize(most) +
                                ", the most that is read of it; is it the right one?");
  }

  /// Gives a program the time to open the other end of a FIFO. Until one has, a read finds the end
  /// of the file; where one has and writes nothing, a read finds that it would have to wait.
  void awaitWriter() { awaitsWriter = wait(kWriterSeconds * 1000) == 0; }

private:
  ssize_t readPiece(llvm::SmallVectorImpl<char> &text) {
    constexpr size_t kPiece = 1 << 16;
    const size_t filled = text.size();
    text.resize_for_overwrite(filled + kPiece);
    const ssize_t got = ::read(descriptor, text.data() + filled, kPiece);
    text.truncate(filled + std::max<ssize_t>(got, 0));
    return got;
  }

  /// Returns 0 where nothing has happened in this time.
  int wait(int milliseconds) {
    pollfd state{descriptor, POLLIN, 0};
    return poll(&state, 1, milliseconds);
  }

  int descriptor;
  llvm::StringRef path;
  uint64_t most;
  bool awaitsWriter = false;
};
} // namespace

static llvm::Error checkSize(llvm::StringRef path, uint64_t bytes, FileKind kind) {
  const uint64_t most = mostBytesOf(kind);
  if (bytes <= most)
    return llvm::Error::success();
  return cannotRead(path, "it has " + formatByteSize(bytes) + ", expected at most " +
                              formatByteSize(most) + "; is it the right one?");
}

static bool isNullDevice(const struct stat &status) {
  struct stat null;
  return stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev;
}

/// Returns null where what is open is no file with bytes that can be mapped.
static std::unique_ptr<llvm::MemoryBuffer> mapFile(int descriptor, const struct stat &status,
                                                   llvm::StringRef name) {
  constexpr off_t kLeast = 1 << 14; // below, a read costs less
  if (!S_ISREG(status.st_mode) || status.st_size < kLeast || lseek(descriptor, 0, SEEK_CUR) != 0)
    return nullptr;
  return MappedFile::map(descriptor, status.st_size, name);
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readOpen(int descriptor, llvm::StringRef path, llvm::StringRef name, FileKind kind) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    return cannotRead(path, errno);
  if (S_ISDIR(status.st_mode))
    return cannotRead(path, EISDIR);
  if (S_ISBLK(status.st_mode) ||
      (S_ISCHR(status.st_mode) && !isNullDevice(status) && !isatty(descriptor)))
    return cannotRead(path, "it is a device; name a file, or - for what a program writes to stdin");
  if (S_ISREG(status.st_mode))
    if (llvm::Error error = checkSize(path, status.st_size, kind))
      return std::move(error);
  if (std::unique_ptr<llvm::MemoryBuffer> mapped = mapFile(descriptor, status, name))
    return std::move(mapped);
  Stream stream(descriptor, path, kind);
  if (S_ISFIFO(status.st_mode) && path != "-")
    stream.awaitWriter();
  return stream.read(name);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> llmmem::readTextFile(llvm::StringRef path,
                                                                         FileKind kind) {
  if (path == "-")
    return readOpen(STDIN_FILENO, path, "<stdin>", kind);
  // A FIFO without a writer would hold a plain open for ever.
  const int descriptor = open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0)
    return cannotRead(path, errno);
  llvm::scope_exit close([&] { ::close(descriptor); });
  return readOpen(descriptor, path, path, kind);
}
