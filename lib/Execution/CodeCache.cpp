//===- CodeCache.cpp - Machine code that earlier runs have compiled ---------===//

#include "CodeCache.h"
#include "llmmem/Support/TemporaryFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace llmmem;

CodeCache CodeCache::fromEnvironment() {
  std::string folder = sys::Process::GetEnv("LLMMEM_CODE_CACHE").value_or("");
  if (!folder.empty())
    removeDeadTemporariesIn(folder);
  return CodeCache(std::move(folder));
}

std::string CodeCache::pathOf(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name + ".o");
  return std::string(path);
}

/// Stands behind the code, so that a file that was cut off or altered is seen.
static std::string checksumOf(StringRef code) {
  return utohexstr(xxh3_64bits(code), /*LowerCase=*/true, /*Width=*/16);
}

std::unique_ptr<MemoryBuffer> CodeCache::read(StringRef name) const {
  if (!isOn())
    return nullptr;
  auto file =
      MemoryBuffer::getFile(pathOf(name), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return nullptr;
  constexpr size_t kChecksum = 16;
  StringRef bytes = (*file)->getBuffer();
  StringRef code = bytes.drop_back(std::min(kChecksum, bytes.size()));
  if (checksumOf(code) != bytes.take_back(kChecksum))
    return nullptr;
  return MemoryBuffer::getMemBufferCopy(code, name);
}

void CodeCache::write(StringRef name, StringRef code) const {
  if (!isOn() || sys::fs::create_directories(folder))
    return;
  // Under another name first: whoever reads meanwhile sees all of the file or none.
  Expected<TemporaryFile> file = TemporaryFile::create(pathOf(name));
  if (!file)
    return consumeError(file.takeError());
  raw_fd_ostream out(file->descriptor(), /*shouldClose=*/false);
  out << code << checksumOf(code);
  out.flush();
  const bool isFull = out.has_error();
  out.clear_error(); // else the stream ends the program
  if (isFull || file->keep())
    file->discard();
}

std::string llmmem::buildOfProgram() {
  sys::fs::file_status status;
  if (sys::fs::status(sys::fs::getMainExecutable(nullptr, nullptr), status))
    return "";
  return formatv("{0} {1}", status.getSize(),
                 status.getLastModificationTime().time_since_epoch().count());
}
