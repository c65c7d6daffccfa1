//===- TemporaryFile.cpp - What is written next to its target until whole ---===//

#include "llmmem/Support/TemporaryFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include <fcntl.h>
#include <map>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

using namespace llmmem;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr size_t kDigits = 8;
static constexpr llvm::StringLiteral kEnd = ".tmp";

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string nameOfTemporary(llvm::StringRef target) {
  std::string digits = llvm::utohexstr(llvm::sys::Process::GetRandomNumber(), /*LowerCase=*/true);
  digits.insert(0, kDigits, '0');
  return (target + "." + llvm::StringRef(digits).take_back(kDigits) + kEnd).str();
}

namespace {
/// "a.json.0123abcd.tmp.o" has the target "a.json" and is a companion of "a.json.0123abcd.tmp".
struct ParsedName {
  llvm::StringRef target, temporary;
};
} // namespace

static ParsedName parseName(llvm::StringRef name) {
  for (size_t at = name.find(kEnd); at != llvm::StringRef::npos; at = name.find(kEnd, at + 1)) {
    llvm::StringRef before = name.take_front(at), after = name.drop_front(at + kEnd.size());
    llvm::StringRef digits = before.take_back(kDigits), target = before.drop_back(digits.size());
    bool isNumber = digits.size() == kDigits && llvm::all_of(digits, [](char c) {
                      return llvm::isDigit(c) || (c >= 'a' && c <= 'f');
                    });
    if (isNumber && target.consume_back(".") && !target.empty() &&
        (after.empty() || after.starts_with(".")))
      return {target, name.take_front(at + kEnd.size())};
  }
  return {};
}

llvm::StringRef llmmem::targetOfTemporary(llvm::StringRef name) { return parseName(name).target; }

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns whether the file of `descriptor` still has a name: a sweeper may have seen it before its
/// lock.
static bool hasName(int descriptor) {
  struct stat facts = {};
  return fstat(descriptor, &facts) == 0 && facts.st_nlink > 0;
}

/// A sweeper that holds the lock removes the file. A file system without locks has no sweepers.
static bool isTaken(int descriptor) {
  return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

llvm::Expected<TemporaryFile> TemporaryFile::create(const llvm::Twine &target) {
  std::string whole = target.str();
  removeDeadTemporaries(whole);
  std::error_code code;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name = nameOfTemporary(whole);
    int file = -1;
    code = fs::openFileForWrite(name, file, fs::CD_CreateNew, fs::OF_None);
    if (code == std::errc::file_exists)
      continue;
    if (code)
      break;
    if (!isTaken(file) && hasName(file)) {
      llvm::sys::RemoveFileOnSignal(name);
      return TemporaryFile(std::move(whole), std::move(name), file);
    }
    close(file);
  }
  return llvm::errorCodeToError(code ? code : std::make_error_code(std::errc::file_exists));
}

TemporaryFile::TemporaryFile(TemporaryFile &&other) noexcept
    : target(std::move(other.target)), name(std::move(other.name)),
      file(std::exchange(other.file, -1)) {}

TemporaryFile::~TemporaryFile() { discard(); }

void TemporaryFile::release() {
  llvm::sys::DontRemoveFileOnSignal(name);
  close(std::exchange(file, -1));
}

std::error_code TemporaryFile::write(llvm::ArrayRef<llvm::StringRef> pieces) const {
  constexpr size_t kMost = size_t(1) << 30; // of one call
  for (llvm::StringRef left : pieces)
    while (!left.empty()) {
      ssize_t written = ::write(file, left.data(), std::min(left.size(), kMost));
      if (written >= 0)
        left = left.drop_front(written);
      else if (errno != EINTR)
        return {errno, std::generic_category()};
    }
  return {};
}

std::error_code TemporaryFile::keepCompanion(llvm::StringRef suffix) {
  std::error_code code = fs::rename(companion(suffix), target);
  discard();
  return code;
}

std::error_code TemporaryFile::keep() {
  if (std::error_code code = fs::rename(name, target)) {
    discard();
    return code;
  }
  release();
  return {};
}

void TemporaryFile::discard() {
  if (file < 0)
    return;
  unlink(name.c_str());
  release();
}

llvm::ErrorOr<std::string> llmmem::resolveTarget(llvm::StringRef path) {
  llvm::SmallString<256> target(path);
  if (fs::exists(path))
    if (std::error_code code = fs::real_path(path, target))
      return code;
  if (fs::is_directory(target))
    return std::make_error_code(std::errc::is_a_directory);
  return target.str().str();
}

//===----------------------------------------------------------------------===//
// Sweeping
//===----------------------------------------------------------------------===//

/// Returns whether this user wrote it: what others have in the folder is theirs.
static bool isOwn(const struct stat &facts) {
  return S_ISREG(facts.st_mode) && facts.st_uid == geteuid();
}

static void removeOwn(const std::string &name) {
  struct stat facts = {};
  if (lstat(name.c_str(), &facts) == 0 && isOwn(facts))
    unlink(name.c_str());
}

/// On a network's file system a lock may be of its machine alone (NFS with nolock or local_lock,
/// Lustre with localflock), so that what was written a short time ago may have a writer elsewhere.
static bool mayBeWrittenElsewhere(int file, const struct stat &facts) {
  constexpr decltype(statfs::f_type) kNfs = 0x6969, kLustre = 0x0BD00BD0;
  constexpr time_t kQuietSeconds = 600;
  struct statfs system = {};
  if (fstatfs(file, &system) != 0)
    return true;
  return (system.f_type == kNfs || system.f_type == kLustre) &&
         time(nullptr) - facts.st_mtime < kQuietSeconds;
}

/// Returns the lock of a temporary of this user whose writer has died; -1 where it is alive, or
/// where nobody knows.
static int lockDead(const std::string &name) {
  int file = open(name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat facts = {};
  if (file >= 0 && fstat(file, &facts) == 0 && isOwn(facts) &&
      !mayBeWrittenElsewhere(file, facts) && flock(file, LOCK_EX | LOCK_NB) == 0 && hasName(file))
    return file;
  if (file >= 0)
    close(file);
  return -1;
}

DeadTemporary::DeadTemporary(DeadTemporary &&other) noexcept
    : name(std::move(other.name)), lock(std::exchange(other.lock, -1)) {}

DeadTemporary::~DeadTemporary() {
  if (lock >= 0)
    close(lock);
}

static std::string folderOf(llvm::StringRef file) {
  llvm::StringRef folder = path::parent_path(file);
  return folder.empty() ? "." : folder.str();
}

void DeadTemporary::remove() const {
  std::error_code code;
  std::string start = path::filename(name).str() + ".";
  for (fs::directory_iterator at(folderOf(name), code), end; !code && at != end; at.increment(code))
    if (path::filename(at->path()).starts_with(start))
      removeOwn(at->path());
  removeOwn(name);
}

/// Finds the dead temporaries of those targets of a folder.
static std::vector<DeadTemporary> findDead(const std::string &folder,
                                           llvm::function_ref<bool(llvm::StringRef)> isTarget) {
  std::map<std::string, bool> found; // and whether it is there itself, not only companions
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    llvm::StringRef name = path::filename(at->path());
    ParsedName parsed = parseName(name);
    if (!parsed.target.empty() && isTarget(parsed.target))
      found[parsed.temporary.str()] |= parsed.temporary == name;
  }
  std::vector<DeadTemporary> dead;
  for (const auto &[name, isSeen] : found) {
    llvm::SmallString<256> whole(folder);
    path::append(whole, name);
    // A file that was made while the folder was read may be seen in part: companions alone.
    bool isThere = isSeen || fs::exists(whole);
    int lock = isThere ? lockDead(whole.str().str()) : -1;
    // A writer makes its temporary before its companions, and removes it after them.
    if (lock >= 0 || !isThere)
      dead.emplace_back(whole.str().str(), lock);
  }
  return dead;
}

std::vector<DeadTemporary> llmmem::findDeadTemporaries(const llvm::Twine &target) {
  std::string whole = target.str();
  return findDead(folderOf(whole),
                  [&](llvm::StringRef name) { return name == path::filename(whole); });
}

void llmmem::removeDeadTemporaries(const llvm::Twine &target) {
  for (const DeadTemporary &dead : findDeadTemporaries(target))
    dead.remove();
}

void llmmem::removeDeadTemporariesIn(const llvm::Twine &folder,
                                     llvm::ArrayRef<llvm::StringRef> ends) {
  auto isOfEnds = [&](llvm::StringRef name) {
    return llvm::any_of(ends, [&](llvm::StringRef end) { return name.ends_with(end); });
  };
  for (const DeadTemporary &dead : findDead(folder.str(), isOfEnds))
    dead.remove();
}
