//===- WriteImage.cpp - Machine code, in files -----------------------------===//

#include "llmmem/Bundle/Bundle.h"
#include "llmmem/Execution/NativeObject.h"
#include "llmmem/Runtime/Samples.h"
#include "llmmem/Support/OwnFile.h"
#include "llmmem/Support/TemporaryFile.h"
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

namespace {
/// Describes a program that makes a file from another one.
struct Tool {
  llvm::StringRef program;
  llvm::SmallVector<llvm::StringRef> flags; // Precede "-o made input".
  llvm::StringRef suffix;                   // The suffix by which the program recognises the input.
  std::string refused;                      // What it was asked for.
  llvm::SmallVector<llvm::StringRef> libraries = {};
};
} // namespace

/// Removes the permissions of others whatever the umask is: a file that others can write is not
/// trusted, and each bundle would make it again.
static llvm::Error keepFromOthers(llvm::StringRef file) {
  llvm::ErrorOr<fs::perms> now = fs::getPermissions(file);
  std::error_code code = now.getError();
  if (now)
    code = fs::setPermissions(file, *now & ~(fs::group_write | fs::others_write));
  if (code)
    return llvm::createStringError(
        code, "'" + file + "' cannot be kept from others' writing: " + code.message());
  return llvm::Error::success();
}

/// The output appears under its name when it is complete, because other processes may write the
/// same.
static llvm::Error make(const Tool &tool, llvm::StringRef contents, llvm::StringRef output) {
  llvm::Expected<TemporaryFile> temporary = TemporaryFile::create(output);
  if (!temporary)
    return llvm::createStringError(llvm::errorToErrorCode(temporary.takeError()),
                                   "'" + output + "' cannot be written");
  // The tool replaces the file that it makes, so a lock of ours would not be on it.
  const std::string input = temporary->companion(tool.suffix), made = temporary->companion("made"),
                    errors = temporary->companion("txt");
  llvm::FileRemover removeInput(input), removeMade(made), removeErrors(errors);
  if (llvm::Error error = writeTextFile(input, contents))
    return error;
  llvm::SmallVector<llvm::StringRef> arguments = {tool.program};
  llvm::append_range(arguments, tool.flags);
  arguments.append({"-o", made, input});
  llvm::append_range(arguments, tool.libraries);
  std::string why;
  int code = llvm::sys::ExecuteAndWait(tool.program, arguments, std::nullopt, {"", "", errors},
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  if (code != 0)
    return llvm::createStringError("'" + tool.program + "' refuses " + tool.refused + ": " +
                                   (why.empty() ? messageIn(errors) : why));
  if (llvm::Error error = keepFromOthers(made))
    return error;
  return llvm::errorCodeToError(temporary->keepCompanion("made"));
}

/// Describes a file so that the runner can check it.
static llvm::Expected<llvm::json::Object> describe(llvm::StringRef folder,
                                                   const std::string &name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> image = llvm::MemoryBuffer::getFile(path);
  if (!image)
    return llvm::createStringError(image.getError(), "'" + path + "' cannot be read");
  llvm::StringRef bytes = (*image)->getBuffer();
  return llvm::json::Object{{"file", name},
                            {"bytes", static_cast<int64_t>(bytes.size())},
                            {"hash", hexOf(llmmem_content_hash(bytes.data(), bytes.size()))}};
}

static llvm::Error writePtx(llvm::StringRef path, llvm::StringRef ptx) {
  if (llvm::Error error = writeTextFile(path, ptx))
    return error;
  return keepFromOthers(path);
}

static llvm::Error cannotReplace(llvm::StringRef path, llvm::StringRef foreign,
                                 const std::string &why) {
  return llvm::createStringError("'" + path + "' " + foreign + " and cannot be replaced: " + why +
                                 "; give another folder by --kernels");
}

llvm::Expected<llvm::json::Object> llmmem::writeImage(llvm::StringRef ptx, llvm::StringRef chip,
                                                      const BundleOptions &options) {
  ptx = ptx.rtrim('\0');
  std::string name = hexOf(llmmem_content_hash(ptx.data(), ptx.size())) + "." + chip.str() +
                     (options.ptxas.empty() ? ".ptx" : ".cubin");
  llvm::SmallString<128> path(options.kernels);
  llvm::sys::path::append(path, name);
  Tool assembler{options.ptxas, {"-O3", "--gpu-name", chip}, "ptx", "a kernel for " + chip.str()};
  // The image of an earlier bundle stays where no other user can have written it.
  std::string foreign = whyForeign(path);
  // A write would go to where a link leads. Any other file is replaced when the new one is
  // complete, because another bundle may be reading it.
  if (fs::is_symlink_file(path))
    if (std::error_code code = fs::remove(path))
      return cannotReplace(path, foreign, code.message());
  if (!foreign.empty() || !fs::exists(path))
    if (llvm::Error error =
            options.ptxas.empty() ? writePtx(path, ptx) : make(assembler, ptx, path))
      return foreign.empty() ? std::move(error)
                             : cannotReplace(path, foreign, llvm::toString(std::move(error)));
  llvm::Expected<llvm::json::Object> image = describe(options.kernels, name);
  if (image)
    (*image)["chip"] = chip;
  return image;
}

llvm::Expected<llvm::json::Object> llmmem::writeHostCode(mlir::ModuleOp module,
                                                         const BundleOptions &options) {
  if (options.linker.empty())
    return llvm::createStringError("there is no C compiler to link its code; name one by --linker, "
                                   "or plan the step without --update-on=host");
  std::string processor = portableProcessor();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object = compileToObject(module, processor);
  if (!object)
    return object.takeError();
  llvm::StringRef code = (*object)->getBuffer();
  std::string name = hexOf(llmmem_content_hash(code.data(), code.size())) + "." + processor + ".so";
  llvm::SmallString<128> path(options.kernels);
  llvm::sys::path::append(path, name);
  Tool linker{options.linker, {"-shared", "-s"}, "o", "code for " + processor, {"-lm"}};
  // It is made again where it exists, because the existing file may be damaged, and it is run.
  if (llvm::Error error = make(linker, code, path))
    return std::move(error);
  llvm::Expected<llvm::json::Object> library = describe(options.kernels, name);
  if (library)
    (*library)["processor"] = processor;
  return library;
}
