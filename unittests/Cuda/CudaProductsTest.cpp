//===- CudaProductsTest.cpp - Products by a cuBLASLt that multiplies here --===//
//
// Against a library that computes what cuBLASLt is documented to compute, on host memory.
// References are row-major loops that share no code with it.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include "llmmem/Runtime/Cuda.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>
#include <vector>

namespace {

using Numbers = std::vector<float>;

/// Small whole numbers and halves: matmuls are exact in f32, and mostly in bf16.
Numbers someNumbers(size_t count, size_t seed) {
  Numbers numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(static_cast<float>(static_cast<int>((i * 7 + seed * 5) % 13) - 6) / 2);
  return numbers;
}

class CudaProducts : public testing::Test {
protected:
  void SetUp() override {
    setenv("LLMMEM_FAKE_CUDA_LOG", log.c_str(), 1);
    for (const char *name : {"FAIL", "NONE", "REDUCTION", "WORKSPACE", "VERSION"})
      unsetenv((std::string("LLMMEM_FAKE_CUBLASLT_") + name).c_str());
    char message[1024] = "";
    run = llmmem_cuda_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
    ASSERT_NE(run, nullptr) << message;
    ASSERT_EQ(llmmem_cuda_reserve(run, 1 << 16, 1 << 16), 0);
    ASSERT_EQ(open(message, sizeof message), 0) << message;
  }
  void TearDown() override {
    llmmem_cuda_close(run);
    std::remove(log.c_str());
  }

  int open(char *message, size_t size) {
    return llmmem_cuda_open_products(run, LLMMEM_FAKE_CUBLASLT, message, size);
  }

  /// Bytes of the arena that begin at a multiple of 256.
  uint64_t place(const Numbers &numbers, int64_t type) {
    uint64_t address = llmmem_cuda_arena(run) + next;
    next += (numbers.size() * 4 + 255) / 256 * 256;
    write(address, numbers, type);
    return address;
  }

  void write(uint64_t address, const Numbers &numbers, int64_t type) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, &numbers[i], 4);
      if (type == LLMMEM_PRODUCT_BF16) {
        EXPECT_EQ(bits & 0xffff, 0u) << "the numbers of this test have 8 bits";
        bits >>= 16;
      }
      size_t width = type == LLMMEM_PRODUCT_BF16 ? 2 : 4;
      ASSERT_EQ(llmmem_cuda_upload(run, address + i * width, &bits, width), 0);
    }
  }

  Numbers read(uint64_t address, size_t count, int64_t type) {
    Numbers numbers;
    size_t width = type == LLMMEM_PRODUCT_BF16 ? 2 : 4;
    for (size_t i = 0; i < count; ++i) {
      uint32_t bits = 0;
      EXPECT_EQ(llmmem_cuda_download(run, &bits, address + i * width, width), 0);
      bits <<= type == LLMMEM_PRODUCT_BF16 ? 16 : 0;
      numbers.emplace_back();
      std::memcpy(&numbers.back(), &bits, 4);
    }
    return numbers;
  }

  /// Captures and replays `product`. Returns what failed, or nothing.
  std::string multiply(llmmem_product product) {
    struct Context {
      llmmem_cuda *run;
      llmmem_product *product;
    } context = {run, &product};
    auto step = [](void *opaque) {
      auto *context = static_cast<Context *>(opaque);
      llmmem_cuda_multiply(context->run, context->product);
    };
    if (!llmmem_cuda_capture(run, step, &context))
      llmmem_cuda_replay(run);
    return llmmem_cuda_message(run);
  }

  std::string readLog() {
    std::ifstream file(log);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  llmmem_cuda *run = nullptr;
  uint64_t next = 0;
  std::string log = testing::TempDir() + "cuda-products-" + std::to_string(getpid()) + ".log";
};

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// 3 x 5 by 5 x 4, each operand transposed or not, with rows longer than needed.
struct Factors {
  int64_t type, resultType;
  bool transposedA, transposedB;
};

struct Form {
  int64_t batch, strideB; // strideB 0: all matmuls of the batch use the same B
  bool hasInitial, isInPlace;
  int64_t epilogue;
};

void PrintTo(const Factors &test, std::ostream *os) {
  *os << (test.type ? "bf16" : "f32") << (test.resultType ? " to bf16" : " to f32")
      << (test.transposedA ? " A^T" : " A") << (test.transposedB ? " B^T" : " B");
}

class ProductNumbers : public CudaProducts, public testing::WithParamInterface<Factors> {
protected:
  static constexpr int64_t rows = 3, inner = 5, columns = 4, pitchC = 8;

  static llmmem_matrix_form matrix(int64_t type, int64_t pitch, bool transposed, int64_t stride) {
    return {type, pitch, transposed, stride, 256};
  }
  struct Call;
  void prepare(Call &call);
  void expectRowMajor(const Form &form);
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/// The operands of one call, and the call itself.
struct ProductNumbers::Call {
  Call(const Factors &test, const Form &form)
      : test(test), form(form), pitchA(test.transposedA ? 6 : 7), pitchB(test.transposedB ? 9 : 5),
        strideA((test.transposedA ? inner : rows) * pitchA), strideC(rows * pitchC),
        sizeB((test.transposedB ? columns : inner) * pitchB), strideB(form.strideB ? sizeB : 0),
        a(someNumbers(strideA * form.batch, 1)), b(someNumbers(sizeB * form.batch, 2)),
        c(someNumbers(strideC * form.batch, 3)), bias(someNumbers(columns, 4)),
        aux(rows * pitchC, 0.0f) {}

  bool hasBias() const {
    return form.epilogue != LLMMEM_EPILOGUE_NONE && form.epilogue != LLMMEM_EPILOGUE_DGELU;
  }
  bool hasAux() const {
    return form.epilogue >= LLMMEM_EPILOGUE_GELU_AUX_BIAS &&
           form.epilogue <= LLMMEM_EPILOGUE_DGELU_BGRAD;
  }
  /// An element of A B before any epilogue.
  double elementOf(int64_t n, int64_t i, int64_t j) const {
    double x = 0;
    for (int64_t k = 0; k < inner; ++k)
      x += 0.5 * a[n * strideA + (test.transposedA ? k * pitchA + i : i * pitchA + k)] *
           b[n * strideB + (test.transposedB ? j * pitchB + k : k * pitchB + j)];
    return x;
  }

  Factors test;
  Form form;
  int64_t pitchA, pitchB, strideA, strideC, sizeB, strideB;
  Numbers a, b, c, bias, aux;
  llmmem_product product = {};
};

void ProductNumbers::prepare(Call &call) {
  const Factors &test = call.test;
  llmmem_product &product = call.product;
  product.form = {rows,
                  columns,
                  inner,
                  call.form.batch,
                  matrix(test.type, call.pitchA, test.transposedA, call.strideA),
                  matrix(test.type, call.pitchB, test.transposedB, call.strideB),
                  {},
                  matrix(test.resultType, pitchC, false, call.strideC),
                  call.form.epilogue,
                  pitchC,
                  1024};
  product.a = place(call.a, test.type), product.b = place(call.b, test.type);
  product.alpha = 0.5;
  uint64_t initial = place(call.c, test.resultType);
  if (call.form.hasInitial) {
    product.form.initial = product.form.c;
    product.initial = initial;
  }
  product.c = call.form.isInPlace ? initial : place(Numbers(call.c.size(), 77.0f), test.resultType);
  if (call.hasBias())
    product.bias = place(call.bias, test.resultType);
  if (call.hasAux())
    product.aux = place(call.aux, test.resultType);
  product.workspace = place(Numbers(256), LLMMEM_PRODUCT_F32);
}

void ProductNumbers::expectRowMajor(const Form &form) {
  const Factors &test = GetParam();
  Call call(test, form);
  prepare(call);
  ASSERT_EQ(multiply(call.product), "");

  Numbers result = read(call.product.c, call.c.size(), test.resultType);
  Numbers auxAfter =
      call.hasAux() ? read(call.product.aux, call.aux.size(), test.resultType) : Numbers();
  double tolerance = test.resultType == LLMMEM_PRODUCT_BF16 ? 4e-3 : 1e-6;
  std::vector<double> sums(columns, 0.0);
  for (int64_t n = 0; n < form.batch; ++n)
    for (int64_t i = 0; i < rows; ++i) {
      int64_t row = n * call.strideC + i * pitchC;
      for (int64_t j = 0; j < columns; ++j) {
        double x = call.elementOf(n, i, j);
        if (form.hasInitial)
          x += call.c[row + j];
        if (form.epilogue >= LLMMEM_EPILOGUE_BIAS && form.epilogue <= LLMMEM_EPILOGUE_GELU_AUX_BIAS)
          x += call.bias[j];
        if (form.epilogue == LLMMEM_EPILOGUE_GELU_AUX_BIAS)
          EXPECT_NEAR(auxAfter[i * pitchC + j], x, tolerance * (1 + std::abs(x)));
        if (form.epilogue == LLMMEM_EPILOGUE_GELU_BIAS ||
            form.epilogue == LLMMEM_EPILOGUE_GELU_AUX_BIAS)
          x = gelu(x);
        if (form.epilogue == LLMMEM_EPILOGUE_DGELU || form.epilogue == LLMMEM_EPILOGUE_DGELU_BGRAD)
          x /= 2; // the gradient at 0
        EXPECT_NEAR(result[row + j], x, tolerance * (1 + std::abs(x))) << n << " " << i << " " << j;
        sums[j] += x;
      }
      // Elements between the rows are not written.
      for (int64_t j = columns; j < pitchC; ++j)
        EXPECT_EQ(result[row + j], form.isInPlace ? call.c[row + j] : 77.0f);
    }
  if (form.epilogue != LLMMEM_EPILOGUE_DGELU_BGRAD)
    return;
  Numbers given = read(call.product.bias, columns, test.resultType);
  for (int64_t j = 0; j < columns; ++j)
    EXPECT_NEAR(given[j], sums[j], 3 * tolerance * (1 + std::abs(sums[j]))) << j;
}

TEST_P(ProductNumbers, AreRowMajor) {
  std::vector<Form> forms = {{1, 1, false, false, LLMMEM_EPILOGUE_NONE},
                             {1, 1, true, false, LLMMEM_EPILOGUE_NONE},
                             {1, 1, true, true, LLMMEM_EPILOGUE_NONE},
                             {3, 1, false, false, LLMMEM_EPILOGUE_NONE},
                             {3, 0, true, true, LLMMEM_EPILOGUE_NONE}};
  for (int64_t epilogue :
       {LLMMEM_EPILOGUE_BIAS, LLMMEM_EPILOGUE_GELU_BIAS, LLMMEM_EPILOGUE_GELU_AUX_BIAS,
        LLMMEM_EPILOGUE_DGELU, LLMMEM_EPILOGUE_DGELU_BGRAD})
    forms.push_back({1, 1, false, false, epilogue});
  for (const Form &form : forms) {
    SCOPED_TRACE(testing::Message() << "batch " << form.batch << " stride " << form.strideB
                                    << " initial " << form.hasInitial << " in place "
                                    << form.isInPlace << " epilogue " << form.epilogue);
    next = 0;
    expectRowMajor(form);
  }
}

TEST_P(ProductNumbers, SumTheFactorThatTheySay) {
  const Factors &test = GetParam();
  int64_t pitchA = 8, pitchB = 8;
  for (int64_t epilogue : {LLMMEM_EPILOGUE_BGRAD_A, LLMMEM_EPILOGUE_BGRAD_B}) {
    Numbers a = someNumbers(5 * pitchA, 1), b = someNumbers(5 * pitchB, 2);
    llmmem_product product = {};
    product.form = {rows,
                    columns,
                    inner,
                    1,
                    matrix(test.type, pitchA, test.transposedA, 0),
                    matrix(test.type, pitchB, test.transposedB, 0),
                    {},
                    matrix(test.resultType, pitchC, false, 0),
                    epilogue,
                    0,
                    0};
    product.a = place(a, test.type), product.b = place(b, test.type);
    product.c = place(Numbers(rows * pitchC), test.resultType);
    product.bias = place(Numbers(8, 77.0f), test.resultType);
    product.alpha = 1;
    ASSERT_EQ(multiply(product), "");
    bool ofA = epilogue == LLMMEM_EPILOGUE_BGRAD_A;
    Numbers sums = read(product.bias, ofA ? rows : columns, test.resultType);
    for (size_t i = 0; i < sums.size(); ++i) {
      float sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += ofA ? a[test.transposedA ? k * pitchA + i : i * pitchA + k]
                   : b[test.transposedB ? i * pitchB + k : k * pitchB + i];
      EXPECT_EQ(sums[i], sum) << (ofA ? "a " : "b ") << i;
    }
  }
}

std::vector<Factors> allFactors() {
  std::vector<Factors> all;
  constexpr int64_t f32 = LLMMEM_PRODUCT_F32, bf16 = LLMMEM_PRODUCT_BF16;
  for (auto [type, result] : {std::pair(f32, f32), std::pair(bf16, bf16), std::pair(bf16, f32)})
    for (bool transposedA : {false, true})
      for (bool transposedB : {false, true})
        all.push_back({type, result, transposedA, transposedB});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ProductNumbers, testing::ValuesIn(allFactors()));

//===----------------------------------------------------------------------===//
// What is asked of the library
//===----------------------------------------------------------------------===//

/// y[128, 96] = x[128, 64] w[64, 96] + b in bf16, and w as gradients read it.
llmmem_product linear(llmmem_cuda *run, bool transposed) {
  llmmem_product product = {};
  int64_t bf16 = LLMMEM_PRODUCT_BF16;
  product.form = {128,
                  96,
                  64,
                  1,
                  {bf16, 64, 0, 0, 256},
                  {bf16, transposed ? 64 : 96, transposed, 0, 128},
                  {},
                  {bf16, 96, 0, 0, 256},
                  LLMMEM_EPILOGUE_BIAS,
                  0,
                  4096};
  uint64_t arena = llmmem_cuda_arena(run), resident = llmmem_cuda_resident(run);
  product.a = arena, product.b = resident + 128, product.c = arena + 16384;
  product.bias = resident + 16384;
  product.workspace = arena + 49152;
  product.alpha = 1;
  product.number = 5;
  return product;
}

TEST_F(CudaProducts, AskOnceForEachFormBeforeTheCapture) {
  struct Context {
    llmmem_cuda *run;
  } context = {run};
  auto step = [](void *opaque) {
    llmmem_cuda *run = static_cast<Context *>(opaque)->run;
    llmmem_product first = linear(run, false), second = linear(run, true);
    llmmem_cuda_multiply(run, &first);
    llmmem_cuda_multiply(run, &second);
    llmmem_cuda_copy(run, llmmem_cuda_arena(run), llmmem_cuda_resident(run), 64);
    llmmem_cuda_multiply(run, &first);
  };
  ASSERT_EQ(llmmem_cuda_capture(run, step, &context), 0) << llmmem_cuda_message(run);
  std::string text = readLog();
  EXPECT_EQ(text.substr(text.find("cuBLASLt")), R"(cuBLASLt 130100
algorithm for 96 x 128 x 64: reduction 0, alignments 128 256 256 256, bias 256, aux 0, workspace 4096
algorithm for 96 x 128 x 64: reduction 0, alignments 128 256 256 256, bias 256, aux 0, workspace 4096
capture 1 begins
node multiply 96 x 128 x 64 batch 1 ops NN ld 96 64 96 96 types 14 14 14 alpha 1 beta 0 epilogue 4 (A0+128, A1+0, A1+16384, A1+16384) bias A0+16384 aux 0x0 workspace A1+49152 of 4096
node multiply 96 x 128 x 64 batch 1 ops TN ld 64 64 96 96 types 14 14 14 alpha 1 beta 0 epilogue 4 (A0+128, A1+0, A1+16384, A1+16384) bias A0+16384 aux 0x0 workspace A1+49152 of 4096
node copy A1+0 from A0+0 64 bytes
node multiply 96 x 128 x 64 batch 1 ops NN ld 96 64 96 96 types 14 14 14 alpha 1 beta 0 epilogue 4 (A0+128, A1+0, A1+16384, A1+16384) bias A0+16384 aux 0x0 workspace A1+49152 of 4096
capture ends with 4 nodes
)");
  EXPECT_EQ(llmmem_products_count(llmmem_cuda_products(run)), 2u);
}

TEST_F(CudaProducts, UseTheAlgorithmsThatTheyAreGiven) {
  ASSERT_EQ(multiply(linear(run, false)), "");
  llmmem_product_algorithm known = *llmmem_products_algorithm(llmmem_cuda_products(run), 0);
  EXPECT_EQ(known.workspace_bytes, 4096);
  EXPECT_FALSE(known.is_given);
  llmmem_cuda_close(run);
  char message[256];
  run = llmmem_cuda_open(LLMMEM_FAKE_CUDA, 0, message, sizeof message);
  ASSERT_EQ(llmmem_cuda_reserve(run, 1 << 16, 1 << 16), 0);
  ASSERT_EQ(open(message, sizeof message), 0);
  ASSERT_EQ(llmmem_products_give(llmmem_cuda_products(run), &known), 0);
  setenv("LLMMEM_FAKE_CUBLASLT_NONE", "1", 1); // so asking fails
  EXPECT_EQ(multiply(linear(run, false)), "");
}

//===----------------------------------------------------------------------===//
// Algorithms that are timed and kept
//===----------------------------------------------------------------------===//

class KeptAlgorithms : public CudaProducts {
protected:
  void SetUp() override {
    setenv("LLMMEM_FAKE_CUBLASLT_SCHEMES", "0,2", 1);
    setenv("LLMMEM_FAKE_CUDA_NS", "cublasLtMatmul.1=10", 1);
    CudaProducts::SetUp();
    char message[256];
    ASSERT_EQ(llmmem_cuda_keep_algorithms(run, folder.c_str(), message, sizeof message), 0)
        << message;
  }
  void TearDown() override {
    CudaProducts::TearDown();
    for (const char *name : {"LLMMEM_FAKE_CUBLASLT_SCHEMES", "LLMMEM_FAKE_CUDA_NS",
                             "LLMMEM_FAKE_CUBLASLT_REDUCTION", "LLMMEM_FAKE_CUDA_FREE"})
      unsetenv(name);
    std::filesystem::remove_all(folder);
  }

  /// Returns what the form's algorithm took where it was chosen, or -1 if it has none.
  int64_t chosenNs() {
    llmmem_product product = linear(run, false);
    const llmmem_product_algorithm *found =
        llmmem_products_find(llmmem_cuda_products(run), &product.form);
    return found ? found->ns : -1;
  }

  std::string folder = testing::TempDir() + "algorithms-" + std::to_string(getpid());
};

TEST_F(KeptAlgorithms, TakeTheFastest) {
  EXPECT_EQ(multiply(linear(run, false)), "");
  EXPECT_EQ(chosenNs(), 10);
}

TEST_F(KeptAlgorithms, AreTimedInMemoryOfTheirOwnWhereTheArenaIsTooSmall) {
  ASSERT_EQ(llmmem_cuda_reserve(run, 1 << 16, 256), 0);
  llmmem_product product = linear(run, false);
  product.a = product.c = product.workspace = llmmem_cuda_resident(run);
  EXPECT_EQ(llmmem_cuda_choose_algorithm(run, &product), 0) << llmmem_cuda_message(run);
  EXPECT_EQ(chosenNs(), 10);
  EXPECT_EQ(llmmem_cuda_measured_bytes(run), (1 << 16) + 256) << "it is given back";
}

TEST_F(KeptAlgorithms, AreTheHeuristicsWhereNoMemoryIsLeft) {
  ASSERT_EQ(llmmem_cuda_reserve(run, 1 << 16, 256), 0);
  setenv("LLMMEM_FAKE_CUDA_FREE", std::to_string((1 << 16) + 512).c_str(), 1);
  llmmem_product product = linear(run, false);
  product.a = product.c = product.workspace = llmmem_cuda_resident(run);
  EXPECT_EQ(llmmem_cuda_choose_algorithm(run, &product), 0) << llmmem_cuda_message(run);
  EXPECT_EQ(chosenNs(), 0);
}

TEST_F(KeptAlgorithms, AddUpInOneOrder) {
  unsetenv("LLMMEM_FAKE_CUBLASLT_SCHEMES");
  setenv("LLMMEM_FAKE_CUBLASLT_REDUCTION", "1", 1); // in place, by whoever comes first
  EXPECT_NE(multiply(linear(run, false)).find("by scheme 1"), std::string::npos);
  EXPECT_EQ(llmmem_products_count(llmmem_cuda_products(run)), 0u) << "a refused one is kept";
}

TEST_F(CudaProducts, RefuseAlgorithmsOfOthers) {
  ASSERT_EQ(multiply(linear(run, false)), "");
  llmmem_product_algorithm known = *llmmem_products_algorithm(llmmem_cuda_products(run), 0);
  llmmem_product other = linear(run, false);
  other.form.inner = 32;
  known.form = other.form;
  known.is_given = 1;
  ASSERT_EQ(llmmem_products_give(llmmem_cuda_products(run), &known), 0);
  EXPECT_EQ(multiply(other),
            "cuBLASLt: multiplying 128 x 32 bf16 by 32 x 96 bf16 to bf16, bias, with 4096 bytes of "
            "workspace: its algorithm does not run here: CUBLAS_STATUS_INVALID_VALUE (status 7); "
            "delete the file of algorithms");
  EXPECT_EQ(llmmem_cuda_failed_product(run), 5);
}

TEST_F(CudaProducts, RefuseAlgorithmsThatAddUpInAnyOrder) {
  setenv("LLMMEM_FAKE_CUBLASLT_REDUCTION", "2", 1);
  EXPECT_EQ(
      multiply(linear(run, false)),
      "cuBLASLt: multiplying 128 x 64 bf16 by 64 x 96 bf16 to bf16, bias, with 4096 bytes of "
      "workspace: its algorithm reduces partial sums by scheme 2; expected 0, which adds in one "
      "order");
}

TEST_F(CudaProducts, RefuseMoreWorkspaceThanPlanned) {
  setenv("LLMMEM_FAKE_CUBLASLT_WORKSPACE", "4097", 1);
  EXPECT_EQ(multiply(linear(run, false)),
            "cuBLASLt: multiplying 128 x 64 bf16 by 64 x 96 bf16 to bf16, bias, with 4096 bytes of "
            "workspace: its algorithm needs 4097 bytes of workspace");
}

TEST_F(CudaProducts, AreAskedForWithoutAChoice) {
  llmmem_products *products = llmmem_cuda_products(run);
  llmmem_product product = linear(run, true);
  EXPECT_TRUE(llmmem_products_can(products, &product));
  EXPECT_EQ(llmmem_products_count(products), 0u); // so that it may still be timed
  setenv("LLMMEM_FAKE_CUBLASLT_NONE", "1", 1);
  EXPECT_FALSE(llmmem_products_can(products, &product));
  EXPECT_STREQ(llmmem_products_message(products),
               "multiplying 128 x 64 bf16 by 64 x 96 bf16 to bf16, bias, with 4096 bytes of "
               "workspace: there is no algorithm for it");
  EXPECT_EQ(llmmem_cuda_failed_product(run), -1);
}

TEST_F(CudaProducts, SayThatThereIsNoAlgorithm) {
  setenv("LLMMEM_FAKE_CUBLASLT_NONE", "1", 1);
  llmmem_product product = linear(run, true);
  product.form.batch = 2;
  EXPECT_EQ(multiply(product),
            "cuBLASLt: multiplying 2 times 128 x 64 bf16 by 64 x 96 bf16 to bf16, bias, with 4096 "
            "bytes of workspace: there is no algorithm for it; --products=generated multiplies by "
            "kernels of llmmem");
  EXPECT_EQ(readLog().find("capture 1 begins"), std::string::npos);
}

// Otherwise a heuristic's choice by addresses would depend on the plan.
TEST_F(CudaProducts, ChooseWhereverBiasAndAuxLie) {
  llmmem_product product = linear(run, true);
  product.form.epilogue = LLMMEM_EPILOGUE_GELU_AUX_BIAS;
  product.form.aux_pitch = product.form.c.pitch;
  product.aux = llmmem_cuda_resident(run) + 32768;
  EXPECT_EQ(multiply(product), "");
  EXPECT_NE(readLog().find(", bias 256, aux 256, workspace"), std::string::npos) << readLog();
}

TEST_F(CudaProducts, RefuseAnAuxThatMeetsC) {
  llmmem_product product = linear(run, false);
  product.form.epilogue = LLMMEM_EPILOGUE_DGELU;
  product.form.aux_pitch = product.form.c.pitch;
  product.bias = 0;
  product.aux = product.c;
  std::string message = multiply(product);
  EXPECT_NE(message.find("gelu gradient, with"), std::string::npos) << message;
  EXPECT_NE(message.find("aux at 0x"), std::string::npos) << message;
  EXPECT_NE(message.find(" overlaps C at 0x"), std::string::npos) << message;
}

TEST_F(CudaProducts, RefusePlacesThatAreNotAsSaid) {
  llmmem_product product = linear(run, false);
  product.c += 64;
  std::string message = multiply(product);
  EXPECT_NE(message.find("C is at 0x"), std::string::npos) << message;
  EXPECT_TRUE(llvm::StringRef(message).ends_with("expected a multiple of 256")) << message;
}

TEST(CudaProductsLibrary, SaysThatThereIsNone) {
  char message[512];
  EXPECT_EQ(llmmem_products_open("libno-such-cublas.so.1", message, sizeof message), nullptr);
  EXPECT_TRUE(llvm::StringRef(message).starts_with("found no cuBLASLt: libno-such-cublas.so.1"))
      << message;
  EXPECT_EQ(llmmem_products_open("libc.so.6", message, sizeof message), nullptr);
  EXPECT_STREQ(message, "'libc.so.6' has no function cublasLtCreate; expected cuBLASLt of CUDA 12 "
                        "or later");
  setenv("LLMMEM_FAKE_CUBLASLT_FAIL", "cublasLtCreate:1", 1);
  EXPECT_EQ(llmmem_products_open(LLMMEM_FAKE_CUBLASLT, message, sizeof message), nullptr);
  EXPECT_TRUE(llvm::StringRef(message).ends_with(
      "does not start: CUBLAS_STATUS_INTERNAL_ERROR (status 14)"))
      << message;
}

/// The library that NVIDIA ships must have every function that is called.
TEST(CudaProductsLibrary, HasTheFunctionsThatAreCalled) {
  std::string tried;
  const char *home = std::getenv("CUDA_HOME");
  std::string toolkit = home ? home : "/usr/local/cuda";
  for (const std::string &name :
       {toolkit + "/lib64/libcublasLt.so", toolkit + "/lib/libcublasLt.so",
        std::string("libcublasLt.so.13"), std::string("libcublasLt.so.12")}) {
    CublasLt lt;
    char message[512];
    if (!llmmem_cublaslt_open(&lt, name.c_str(), message, sizeof message)) {
      EXPECT_GE(lt.version(), 120000u);
      llmmem_cublaslt_close(&lt);
      return;
    }
    ASSERT_EQ(llvm::StringRef(message).find("has no function"), llvm::StringRef::npos) << message;
    tried += " " + name;
  }
  GTEST_SKIP() << "no cuBLASLt here; tried" << tried;
}

/// The n-th call of one of the library's functions.
class CudaProductFaults : public CudaProducts, public testing::WithParamInterface<const char *> {};

TEST_P(CudaProductFaults, AreToldAndLeaveNothing) {
  setenv("LLMMEM_FAKE_CUBLASLT_FAIL", GetParam(), 1);
  llmmem_product product = linear(run, false);
  std::string message = multiply(product);
  EXPECT_TRUE(llvm::StringRef(message).starts_with("cuBLASLt: multiplying 128 x 64 bf16 by"))
      << message;
  EXPECT_NE(message.find("(status 14)"), std::string::npos) << message;
  llmmem_cuda_close(run);
  run = nullptr;
  EXPECT_NE(readLog().find("cuBLASLt ends, left: 0 descriptors"), std::string::npos) << readLog();
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CudaProductFaults,
    testing::Values("cublasLtMatmulDescCreate:1", "cublasLtMatmulDescSetAttribute:1",
                    "cublasLtMatmulDescSetAttribute:4", "cublasLtMatrixLayoutCreate:1",
                    "cublasLtMatrixLayoutCreate:4", "cublasLtMatmulPreferenceCreate:1",
                    "cublasLtMatmulPreferenceSetAttribute:1",
                    "cublasLtMatmulPreferenceSetAttribute:6", "cublasLtMatmulAlgoGetHeuristic:1",
                    "cublasLtMatmulAlgoCheck:1", "cublasLtMatmul:1"));

} // namespace
