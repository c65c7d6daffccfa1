//===- CudaLibrariesTest.cpp - Where NVIDIA's libraries are looked for -----===//

#include "llmmem/Execution/CudaLibraries.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace llmmem;
namespace fs = llvm::sys::fs;

namespace {

/// A folder of its own, and an environment in which nothing else is named.
class CudaLibraries : public ::testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> folder;
    ASSERT_FALSE(fs::createUniqueDirectory("cuda-libraries", folder));
    root = folder.str().str();
    pathBefore = getenv("PATH");
    setenv("PATH", (root + "/venv/bin").c_str(), 1);
    unsetenv("LLMMEM_CUDA_PATH");
  }
  void TearDown() override {
    setenv("PATH", pathBefore.c_str(), 1);
    unsetenv("LLMMEM_CUDA_PATH");
    fs::remove_directories(root);
  }

  std::string write(const std::string &folder, const std::string &name) {
    std::string whole = root + "/" + folder;
    EXPECT_FALSE(fs::create_directories(whole));
    std::error_code error;
    llvm::raw_fd_ostream file(whole + "/" + name, error);
    EXPECT_FALSE(error);
    return whole + "/" + name;
  }

  std::string root, pathBefore;
};

TEST_F(CudaLibraries, NamesAloneWhereNothingIsThere) {
  EXPECT_EQ(findCudaLibraries({"libx.so.2", "libx.so.1"}),
            (std::vector<std::string>{"libx.so.2", "libx.so.1"}));
  EXPECT_EQ(findCudaLibrary("libllmmem-no-such.so.1"), "libllmmem-no-such.so.1");
}

TEST_F(CudaLibraries, FoldersOfTheUserThenDlopenThenPackagesOfPython) {
  std::string newer = write("cuda/lib64", "libx.so.2"), older = write("other", "libx.so.1");
  std::string packages = "venv/lib/python3.11/site-packages/nvidia/";
  std::string first = write(packages + "cu13/lib", "libx.so.2");
  std::string second = write(packages + "x/lib", "libx.so.2");
  write(packages + "x/include", "libx.so.2");
  fs::setPermissions(write("venv/bin", "python3"), fs::all_all);
  setenv("LLMMEM_CUDA_PATH", (root + "/cuda::" + root + "/other:/nowhere").c_str(), 1);
  EXPECT_EQ(findCudaLibraries({"libx.so.2", "libx.so.1"}),
            (std::vector<std::string>{newer, older, "libx.so.2", "libx.so.1", first, second}));
}

} // namespace
