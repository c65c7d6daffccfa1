//===- WriteImage.cpp - Machine code of a kernel, in a file ----------------===//

#include "llmmem/Bundle/Bundle.h"
#include "llmmem/Runtime/Samples.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace llmmem;
namespace fs = llvm::sys::fs;

static std::string hexOf(uint64_t hash) {
  std::string digits = llvm::utohexstr(hash, /*LowerCase=*/true);
  return std::string(16 - digits.size(), '0') + digits;
}

static std::string messageIn(llvm::StringRef file) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> text = llvm::MemoryBuffer::getFile(file);
  return text ? (*text)->getBuffer().trim().str() : "";
}

/// The output appears under its name when it is whole, as other processes may write the same.
static llvm::Error assemble(llvm::StringRef ptx, llvm::StringRef chip, llvm::StringRef ptxas,
                            llvm::StringRef output) {
  llvm::SmallString<128> input, made, errors;
  for (auto [name, suffix] :
       {std::pair(&input, "ptx"), std::pair(&made, "cubin"), std::pair(&errors, "txt")})
    if (std::error_code code = fs::createUniqueFile(output + "-%%%%%%." + suffix, *name))
      return llvm::createStringError(code, "'" + output + "' cannot be written");
  llvm::FileRemover removeInput(input), removeErrors(errors);
  if (llvm::Error error = writeTextFile(input, ptx))
    return error;
  llvm::StringRef arguments[] = {ptxas, "-O3", "--gpu-name", chip, input, "-o", made};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, {"", "", errors},
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  if (code != 0) {
    fs::remove(made);
    return llvm::createStringError("'" + ptxas + "' refuses a kernel for " + chip + ": " +
                                   (why.empty() ? messageIn(errors) : why));
  }
  return llvm::errorCodeToError(fs::rename(made, output));
}

llvm::Expected<llvm::json::Object> llmmem::writeImage(llvm::StringRef ptx, llvm::StringRef chip,
                                                      const BundleOptions &options) {
  ptx = ptx.rtrim('\0');
  std::string name = hexOf(llmmem_content_hash(ptx.data(), ptx.size())) + "." + chip.str() +
                     (options.ptxas.empty() ? ".ptx" : ".cubin");
  llvm::SmallString<128> path(options.kernels);
  llvm::sys::path::append(path, name);
  if (!fs::exists(path)) {
    llvm::Error error =
        options.ptxas.empty() ? writeTextFile(path, ptx) : assemble(ptx, chip, options.ptxas, path);
    if (error)
      return std::move(error);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> image = llvm::MemoryBuffer::getFile(path);
  if (!image)
    return llvm::createStringError(image.getError(), "'" + path + "' cannot be read");
  llvm::StringRef bytes = (*image)->getBuffer();
  return llvm::json::Object{{"chip", chip},
                            {"file", name},
                            {"bytes", static_cast<int64_t>(bytes.size())},
                            {"hash", hexOf(llmmem_content_hash(bytes.data(), bytes.size()))}};
}
