//===- CodeCache.cpp - Machine code that earlier runs have compiled ---------===//

#include "CodeCache.h"
#include "llmmem/Support/OwnFile.h"
#include "llmmem/Support/TemporaryFile.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llmmem;

CodeCache CodeCache::fromEnvironment(Warn warn) {
  return CodeCache(sys::Process::GetEnv("LLMMEM_CODE_CACHE").value_or(""), std::move(warn));
}

CodeCache::CodeCache(std::string named, Warn warn) : path(std::move(named)), warn(std::move(warn)) {
  // A '/' after the name of a link would name what it leads to.
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  if (path.empty() ||
      sys::fs::create_directories(path, /*IgnoreExisting=*/true, sys::fs::perms::owner_all))
    return;
  if (sys::fs::is_symlink_file(path)) {
    this->warn("LLMMEM_CODE_CACHE: '" + path +
               "' is a link; name the folder itself. Code is compiled without the cache");
    return;
  }
  folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0 && isOwn(folder, path))
    removeDeadTemporariesIn(openFolder(), {".o"});
}

std::string CodeCache::openFolder() const { return formatv("/proc/self/fd/{0}", folder); }

CodeCache::~CodeCache() { close(); }

void CodeCache::close() {
  if (folder >= 0)
    ::close(folder);
  folder = -1;
}

bool CodeCache::isOwn(int descriptor, StringRef file) {
  struct stat status;
  std::string why = fstat(descriptor, &status) == 0 ? whyForeign(status) : "cannot be looked at";
  if (why.empty())
    return true;
  warn("LLMMEM_CODE_CACHE: '" + file + "' " + why +
       ", and code that is there would be run; give a folder of your own that others cannot write "
       "to. Code is compiled without the cache");
  close();
  return false;
}

static std::string fileOf(StringRef name) { return (name + ".o").str(); }

/// Follows the code, so that a truncated or altered file is noticed.
static std::string checksumOf(StringRef code) {
  return utohexstr(xxh3_64bits(code), /*LowerCase=*/true, /*Width=*/16);
}

std::unique_ptr<MemoryBuffer> CodeCache::read(StringRef name) {
  if (!isOn())
    return nullptr;
  const std::string file = fileOf(name);
  const int descriptor =
      openat(folder, file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ELOOP) {
      warn("LLMMEM_CODE_CACHE: '" + path + "/" + file +
           "' is a link, which llmmem does not make. Code is compiled without the cache");
      close();
    }
    return nullptr;
  }
  scope_exit closeFile([&] { ::close(descriptor); });
  sys::fs::file_status status;
  if (!isOwn(descriptor, path + "/" + file) || sys::fs::status(descriptor, status) ||
      status.type() != sys::fs::file_type::regular_file)
    return nullptr;
  // The bytes are in memory and not mapped, so that what is checked here is what runs.
  auto bytes = WritableMemoryBuffer::getNewUninitMemBuffer(status.getSize(), name);
  if (!bytes)
    return nullptr;
  Expected<size_t> got = sys::fs::readNativeFile(descriptor, bytes->getBuffer());
  if (!got) {
    consumeError(got.takeError());
    return nullptr;
  }
  constexpr size_t kChecksum = 16;
  StringRef all(bytes->getBufferStart(), *got);
  StringRef code = all.drop_back(std::min(kChecksum, all.size()));
  if (checksumOf(code) != all.take_back(kChecksum))
    return nullptr;
  return MemoryBuffer::getMemBufferCopy(code, name);
}

void CodeCache::write(StringRef name, StringRef code) {
  if (!isOn())
    return;
  // It is written under another name first, so that a concurrent reader sees all of the file or
  // none.
  Expected<TemporaryFile> file = TemporaryFile::create(openFolder() + "/" + fileOf(name));
  if (!file)
    return consumeError(file.takeError());
  if (fchmod(file->descriptor(), S_IRUSR | S_IWUSR) != 0) // Otherwise no run would trust it.
    return;
  if (!file->write({code, checksumOf(code)}))
    (void)file->keep();
}

std::string llmmem::buildOfProgram() {
  sys::fs::file_status status;
  if (sys::fs::status(sys::fs::getMainExecutable(nullptr, nullptr), status))
    return "";
  return formatv("{0} {1}", status.getSize(),
                 status.getLastModificationTime().time_since_epoch().count());
}
