//===- TextFile.cpp - Write whole text files --------------------------------===//

#include "llmmem/Support/TextFile.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/TemporaryFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem {
namespace {

llvm::Error failed(const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError(code, what + ": " + code.message());
}

/// Writes through `os` and returns the system's error; a stream that is destroyed with an unread
/// error aborts.
llvm::Error writeAll(llvm::raw_fd_ostream &os, llvm::StringRef name,
                     llvm::ArrayRef<llvm::StringRef> pieces) {
  for (llvm::StringRef piece : pieces)
    os << piece;
  os.flush();
  if (!os.has_error())
    return llvm::Error::success();
  std::error_code code = os.error();
  os.clear_error();
  return failed("cannot write '" + name + "'", code);
}

llvm::Error writeInPlace(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> pieces) {
  std::error_code code;
  llvm::raw_fd_ostream os(path, code, llvm::sys::fs::CD_OpenExisting);
  if (code)
    return failed("cannot open '" + path + "' for writing", code);
  return writeAll(os, path, pieces);
}

llvm::Error writeTemporaryAndRename(llvm::StringRef path, llvm::StringRef target,
                                    llvm::ArrayRef<llvm::StringRef> pieces) {
  llvm::Expected<TemporaryFile> temporary = TemporaryFile::create(target);
  if (!temporary)
    return failed("cannot create a file next to '" + path + "'",
                  llvm::errorToErrorCode(temporary.takeError()));
  if (std::error_code code = temporary->write(pieces))
    return failed("cannot write '" + path + "'", code);
  if (std::error_code code = temporary->keep())
    return failed("cannot rename a temporary to '" + path + "'", code);
  return llvm::Error::success();
}

} // namespace

llvm::Error writeTextFile(llvm::StringRef path, llvm::StringRef text) {
  return writePieces(path, text);
}

bool floodsTerminal(llvm::StringRef path, llvm::StringRef text) {
  constexpr size_t kScreens = 16 * 1024;
  return path == "-" && text.size() > kScreens && llvm::outs().is_displayed();
}

std::string keptFromTerminal(llvm::StringRef text) {
  return formatByteSize(static_cast<int64_t>(text.size())) +
         " of program are not printed on a terminal; write them with ";
}

llvm::Error checkOutputs(llvm::ArrayRef<llvm::StringRef> paths) {
  for (auto [index, path] : llvm::enumerate(paths)) {
    if (path.empty())
      continue;
    if (path != "/dev/null" && llvm::is_contained(paths.take_front(index), path))
      return llvm::createStringError("two outputs go to '" + path +
                                     "'; give each a file of its own");
    if (path == "-")
      continue;
    llvm::sys::fs::file_status status;
    if (!llvm::sys::fs::status(path, status) && llvm::sys::fs::is_directory(status))
      return failed("cannot write '" + path + "'", std::make_error_code(std::errc::is_a_directory));
    if (llvm::sys::fs::exists(status) && !llvm::sys::fs::is_regular_file(status))
      continue;
    llvm::StringRef folder = llvm::sys::path::parent_path(path);
    if (std::error_code code =
            llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write))
      return failed("cannot create a file next to '" + path + "'", code);
  }
  return llvm::Error::success();
}

llvm::Error flushStdout() { return writeAll(llvm::outs(), "stdout", {}); }

llvm::Error writePieces(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> pieces) {
  if (path.empty())
    return llvm::createStringError("no file is named to write to; give one, or - for stdout");
  if (path == "-")
    return writeAll(llvm::outs(), "stdout", pieces);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && !llvm::sys::fs::is_regular_file(status) &&
      !llvm::sys::fs::is_directory(status))
    return writeInPlace(path, pieces);
  llvm::ErrorOr<std::string> target = resolveTarget(path);
  if (!target)
    return failed("cannot write '" + path + "'", target.getError());
  return writeTemporaryAndRename(path, *target, pieces);
}

} // namespace llmmem
