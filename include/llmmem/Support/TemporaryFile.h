//===- TemporaryFile.h - What is written next to its target until whole -----===//
//
// A writer that is killed leaves its temporary. So temporaries have names by which they are known,
// TARGET.XXXXXXXX.tmp (hexadecimal digits), and their writers hold a lock on them as long as they
// live, which the system takes back however they end. The next writer of the same target removes
// those without a lock:
//
//   Expected<TemporaryFile> file = TemporaryFile::create("model.safetensors"); // sweeps, too
//   std::error_code code = file->write(text);
//   if (!code)
//     code = file->keep(); // now it is model.safetensors
//
// Every file of llmmem that must be whole or absent is written so (`writeTextFile` does all of it);
// in C without LLVM by include/llmmem/Runtime/WholeFile.h.
//
// Where a file system knows no locks (flock), or where another user has written, nothing is swept.
// Where the locks of a network's file system are each machine's own (NFS with nolock or local_lock,
// Lustre with localflock), a live writer on another machine is not known: on NFS and Lustre only
// files that were not written for ten minutes are removed.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_TEMPORARYFILE_H
#define LLMMEM_SUPPORT_TEMPORARYFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ErrorOr.h"
#include <string>
#include <system_error>
#include <vector>

namespace llmmem {

class TemporaryFile {
public:
  /// Removes what dead writers of `target` have left, and makes a file of this one's.
  static llvm::Expected<TemporaryFile> create(const llvm::Twine &target);

  TemporaryFile(TemporaryFile &&other) noexcept;
  TemporaryFile &operator=(TemporaryFile &&) = delete;
  /// Discards what was not kept.
  ~TemporaryFile();

  /// Returns the file's descriptor, for what is not written from front to back.
  int descriptor() const { return file; }
  const std::string &path() const { return name; }
  /// Returns where another program may write for this writer: what is still there when the writer
  /// has died goes with its temporary. The caller that uses it removes it.
  std::string companion(llvm::StringRef suffix) const { return name + "." + suffix.str(); }

  /// Adds the pieces to what has been written.
  std::error_code write(llvm::ArrayRef<llvm::StringRef> pieces) const;
  /// Renames it to its target, or discards it where that fails.
  std::error_code keep();
  /// Does the same with a companion that another program has made: it becomes the target, and the
  /// temporary is discarded.
  std::error_code keepCompanion(llvm::StringRef suffix);
  void discard();

private:
  TemporaryFile(std::string target, std::string name, int file)
      : target(std::move(target)), name(std::move(name)), file(file) {}
  void release();

  std::string target, name;
  int file; // -1: kept or discarded
};

/// Returns the file that writing `path` replaces: what its links lead to, or itself where nothing
/// is there. Fails where that is a folder.
llvm::ErrorOr<std::string> resolveTarget(llvm::StringRef path);

/// Is a temporary that is no longer written, and that no other process removes meanwhile.
class DeadTemporary {
public:
  DeadTemporary(std::string path, int lock) : name(std::move(path)), lock(lock) {}
  DeadTemporary(DeadTemporary &&other) noexcept;
  DeadTemporary &operator=(DeadTemporary &&) = delete;
  ~DeadTemporary();

  const std::string &path() const { return name; }
  /// Removes it with its companions.
  void remove() const;

private:
  std::string name;
  int lock; // -1: only companions are left
};

/// Finds the dead temporaries of `target`.
std::vector<DeadTemporary> findDeadTemporaries(const llvm::Twine &target);
void removeDeadTemporaries(const llvm::Twine &target);
/// Removes those of all targets in a folder whose names end in one of `ends`: llmmem's own kinds of
/// files, as the folder may have others, too.
void removeDeadTemporariesIn(const llvm::Twine &folder, llvm::ArrayRef<llvm::StringRef> ends);

/// Returns the name of the target for that of a temporary or of a companion; empty for other names.
/// Example: "a.json.0123abcd.tmp" gives "a.json".
llvm::StringRef targetOfTemporary(llvm::StringRef name);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_TEMPORARYFILE_H
