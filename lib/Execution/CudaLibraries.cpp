//===- CudaLibraries.cpp - Where NVIDIA's libraries are --------------------===//

#include "llmmem/Execution/CudaLibraries.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include <dlfcn.h>

using namespace llmmem;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::string inFolder(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<256> joined(folder);
  path::append(joined, name);
  return joined.str().str();
}

/// Returns the folders in `folder` with this prefix, in the order of their names.
static std::vector<std::string> foldersIn(const std::string &folder, llvm::StringRef prefix) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (path::filename(it->path()).starts_with(prefix) && fs::is_directory(it->path()))
      found.push_back(it->path());
  llvm::sort(found);
  return found;
}

static std::vector<std::string> foldersOfUser() {
  std::vector<std::string> folders;
  std::string paths = llvm::sys::Process::GetEnv("LLMMEM_CUDA_PATH").value_or("");
  for (llvm::StringRef folder : llvm::split(paths, ':'))
    if (!folder.empty())
      for (llvm::StringRef part : {"", "lib64", "lib"})
        folders.push_back(inFolder(folder, part));
  return folders;
}

/// An environment's python3 is a link to another one, whose packages are not meant, so links are
/// not followed.
static std::vector<std::string> foldersOfPython() {
  std::vector<std::string> folders;
  llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName("python3");
  if (!python)
    return folders;
  std::string prefix = path::parent_path(path::parent_path(*python)).str();
  for (const std::string &version : foldersIn(inFolder(prefix, "lib"), "python"))
    for (llvm::StringRef packages : {"site-packages/nvidia", "dist-packages/nvidia"})
      for (const std::string &package : foldersIn(inFolder(version, packages), ""))
        folders.push_back(inFolder(package, "lib"));
  return folders;
}

std::vector<std::string> llmmem::findCudaLibraries(llvm::ArrayRef<llvm::StringRef> names) {
  std::vector<std::string> found;
  auto addFiles = [&](const std::vector<std::string> &folders) {
    for (const std::string &folder : folders)
      for (llvm::StringRef name : names)
        if (std::string file = inFolder(folder, name); fs::exists(file))
          found.push_back(std::move(file));
  };
  addFiles(foldersOfUser());
  for (llvm::StringRef name : names)
    found.push_back(name.str());
  addFiles(foldersOfPython());
  return found;
}

std::string llmmem::findCudaLibrary(llvm::StringRef name) {
  for (const std::string &library : findCudaLibraries(name))
    if (void *opened = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(opened);
      return library;
    }
  return name.str();
}
