//===- OwnFile.h - Which files are not to be trusted ------------------------===//

#ifndef LLMMEM_SUPPORT_OWNFILE_H
#define LLMMEM_SUPPORT_OWNFILE_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <sys/stat.h>

namespace llmmem {

/// Says why what is open may hold what another user has put there, as ssh checks its keys:
/// "belongs to another user (uid 1000)", "may be written to by others (mode 0775)". The answer is
/// empty where only this user and root can have written it. It is asked of an open file (fstat), so
/// that the file cannot be replaced between the answer and its use.
std::string whyForeign(const struct stat &status);

/// Says the same of a path that is not open; empty where there is nothing.
std::string whyForeign(llvm::StringRef path);

/// Returns whether a path that a file names leads out of that file's own folder: it is absolute, or
/// has `..`. A file may come from anyone, and must not choose what else is read.
bool leadsOut(llvm::StringRef path);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_OWNFILE_H
