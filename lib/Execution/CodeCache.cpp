//===- CodeCache.cpp - Machine code that earlier runs have compiled ---------===//

#include "CodeCache.h"
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
  return CodeCache(sys::Process::GetEnv("LLMMEM_CODE_CACHE").value_or(""));
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
  Expected<sys::fs::TempFile> file = sys::fs::TempFile::create(pathOf(name) + ".%%%%%%%%");
  if (!file)
    return consumeError(file.takeError());
  raw_fd_ostream out(file->FD, /*shouldClose=*/false);
  out << code << checksumOf(code);
  out.flush();
  const bool isFull = out.has_error();
  out.clear_error(); // else the stream ends the program
  consumeError(isFull ? file->discard() : file->keep(pathOf(name)));
}

std::string llmmem::buildOfProgram() {
  sys::fs::file_status status;
  if (sys::fs::status(sys::fs::getMainExecutable(nullptr, nullptr), status))
    return "";
  return formatv("{0} {1}", status.getSize(),
                 status.getLastModificationTime().time_since_epoch().count());
}
