//===- OwnFile.cpp - Which files are not to be trusted ----------------------===//

#include "llmmem/Support/OwnFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <unistd.h>

std::string llmmem::whyForeign(const struct stat &status) {
  if (S_ISLNK(status.st_mode))
    return "is a link";
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return llvm::formatv("belongs to another user (uid {0})", status.st_uid);
  if (status.st_mode & (S_IWGRP | S_IWOTH)) {
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777));
    return llvm::formatv("may be written to by others (mode {0})", llvm::StringRef(mode));
  }
  return "";
}

std::string llmmem::whyForeign(llvm::StringRef path) {
  struct stat status;
  return lstat(path.str().c_str(), &status) == 0 ? whyForeign(status) : "";
}

bool llmmem::leadsOut(llvm::StringRef path) {
  using namespace llvm::sys::path;
  return is_absolute(path) || llvm::is_contained(llvm::make_range(begin(path), end(path)), "..");
}
