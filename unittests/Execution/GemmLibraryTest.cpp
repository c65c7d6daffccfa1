//===- GemmLibraryTest.cpp - Products by a CPU's library --------------------===//
//
// Each form of a call against sums in double. What is no library's, or has no units in this
// processor, is skipped and says so.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Runtime/Gemm.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace llmmem::test;

namespace {

/// Elements of the factors, and of C and `initial` where those are others.
enum class Types { F32, BF16, BF16ToF32 };

/// A call's sizes, how its factors lie, and what is added.
struct Form {
  int64_t rows, columns, inner;
  bool transposedA = false, transposedB = false;
  enum { Nothing, Bias, OtherMatrix, C } added = Nothing;
  int64_t gap = 0; // unused elements after each row of each matrix
};

class GemmLibrary : public ::testing::TestWithParam<Types> {
protected:
  void SetUp() override {
    const llmmem_gemm_library *library = llmmem_find_gemm_library();
    if (!library)
      GTEST_SKIP() << llmmem_why_no_gemm_library();
    gemm = GetParam() == Types::F32 ? library->f32 : library->bf16;
    if (!gemm)
      GTEST_SKIP() << "this processor has no units for bf16 that " << library->name << " uses";
  }

  mlir::Type factor() {
    return GetParam() == Types::F32 ? mlir::Type(mlir::Float32Type::get(&context))
                                    : mlir::Type(mlir::BFloat16Type::get(&context));
  }
  mlir::Type sum() {
    return GetParam() == Types::BF16 ? mlir::Type(mlir::BFloat16Type::get(&context))
                                     : mlir::Type(mlir::Float32Type::get(&context));
  }

  int64_t bytesOfC() { return llmmem::bytesOfNumber(sum()); }

  /// `count` elements at an address that vectors like, or `shift` lines of a cache after one.
  struct Bytes {
    Bytes(mlir::Type type, const Numbers &numbers, int64_t shift = 0)
        : type(type), storage(numbers.size() * 4 + 64 * (shift + 1)) {
      auto address = reinterpret_cast<uintptr_t>(storage.data());
      data = storage.data() + (64 - address % 64) % 64 + 64 * shift;
      for (auto [index, number] : llvm::enumerate(numbers))
        writeElement(type, data, index, number);
    }
    double operator[](int64_t index) const { return readElement(type, data, index); }
    mlir::Type type;
    std::vector<char> storage;
    char *data;
  };

  /// The elements of C, rows without gaps; checks that nothing else is written.
  Numbers run(const Form &form, int64_t shift = 0) {
    int64_t pitchA = (form.transposedA ? form.rows : form.inner) + form.gap,
            pitchB = (form.transposedB ? form.inner : form.columns) + form.gap,
            pitchC = form.columns + form.gap;
    Bytes a(factor(), someNumbers((form.transposedA ? form.inner : form.rows) * pitchA, 1), shift),
        b(factor(), someNumbers((form.transposedB ? form.columns : form.inner) * pitchB, 2), shift),
        added(sum(), someNumbers(form.rows * pitchC, 3), shift),
        c(sum(), someNumbers(form.rows * pitchC, 3), shift);
    const void *initial = form.added == Form::Nothing ? nullptr
                          : form.added == Form::C     ? c.data
                                                      : added.data;
    const llmmem_gemm_form words = {
        .a = {.pitch = pitchA, .transposed = form.transposedA, .step = 0},
        .b = {.pitch = pitchB, .transposed = form.transposedB, .step = 0},
        .initial_pitch = form.added == Form::Bias ? 0 : pitchC,
        .c_pitch = pitchC,
        .c_bytes = bytesOfC(),
        .rows = form.rows,
        .columns = form.columns,
        .inner = form.inner,
        .terms = 1};
    gemm(&words, a.data, b.data, initial, c.data, 1.0);
    Numbers found;
    for (int64_t i = 0; i < form.rows; ++i) {
      for (int64_t j = 0; j < form.columns; ++j)
        found.push_back(c[i * pitchC + j]);
      for (int64_t j = form.columns; j < pitchC; ++j)
        EXPECT_EQ(c[i * pitchC + j], added[i * pitchC + j]) << "after row " << i;
    }
    return found;
  }

  Numbers expected(const Form &form) {
    int64_t pitchA = (form.transposedA ? form.rows : form.inner) + form.gap,
            pitchB = (form.transposedB ? form.inner : form.columns) + form.gap,
            pitchC = form.columns + form.gap;
    Numbers a = someNumbers((form.transposedA ? form.inner : form.rows) * pitchA, 1),
            b = someNumbers((form.transposedB ? form.columns : form.inner) * pitchB, 2),
            added = someNumbers(form.rows * pitchC, 3), c;
    for (int64_t i = 0; i < form.rows; ++i)
      for (int64_t j = 0; j < form.columns; ++j) {
        double total = form.added == Form::Nothing ? 0.0
                       : form.added == Form::Bias  ? added[j]
                                                   : added[i * pitchC + j];
        for (int64_t k = 0; k < form.inner; ++k)
          total += a[form.transposedA ? k * pitchA + i : i * pitchA + k] *
                   b[form.transposedB ? j * pitchB + k : k * pitchB + j];
        c.push_back(total);
      }
    return c;
  }

  mlir::MLIRContext context;
  llmmem_gemm *gemm = nullptr;
};

TEST_P(GemmLibrary, MultipliesHoweverTheMatricesLie) {
  double tolerance = GetParam() == Types::BF16 ? 4.1e-3 : 2e-6;
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (int64_t gap : {0, 5})
        for (auto added : {Form::Nothing, Form::Bias, Form::OtherMatrix, Form::C}) {
          SCOPED_TRACE(testing::Message()
                       << "transposed " << a << b << ", gap " << gap << ", added " << added);
          Form form{37, 83, 70, a, b, added, gap};
          expectNear(run(form), expected(form), tolerance);
        }
}

TEST_P(GemmLibrary, MultipliesSmallMatrices) {
  double tolerance = GetParam() == Types::BF16 ? 4.1e-3 : 2e-6;
  for (Form form : {Form{1, 1, 1}, Form{1, 40, 3, false, true, Form::Bias}, Form{5, 1, 64},
                    Form{64, 3, 1, true, false, Form::C}})
    expectNear(run(form), expected(form), tolerance);
}

/// Larger than the blocks in which a sum in memory goes on.
TEST_P(GemmLibrary, GoesOnFromLargeSums) {
  double tolerance = GetParam() == Types::BF16 ? 4.1e-3 : 2e-6;
  for (bool a : {false, true})
    for (bool b : {false, true}) {
      Form form{515, 1027, 5, a, b, Form::C, 3};
      expectNear(run(form), expected(form), tolerance);
    }
}

TEST_P(GemmLibrary, GivesEqualBitsForEqualOperands) {
  for (Form form : {Form{128, 300, 960}, Form{300, 960, 128, true, false, Form::C}}) {
    Numbers first = run(form);
    for (int64_t shift : {0, 1, 3, 4})
      EXPECT_EQ(run(form, shift), first) << shift << " lines of a cache away";
  }
}

/// More forms than are kept: what was made anew computes the same.
TEST_P(GemmLibrary, ForgetsNoForm) {
  Numbers first = run({8, 16, 24});
  for (int64_t inner = 1; inner <= 150; ++inner)
    run({8, 16, inner});
  EXPECT_EQ(run({8, 16, 24}), first);
}

std::string nameOf(const ::testing::TestParamInfo<Types> &info) {
  const char *names[] = {"f32", "bf16", "bf16_to_f32"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Types, GemmLibrary,
                         ::testing::Values(Types::F32, Types::BF16, Types::BF16ToF32), nameOf);

using GemmLibraryRounding = GemmLibrary;

/// (1 + 2^-7)^2 = 1 + 2^-6 + 2^-14, and 2^-8 is half of the distance of two bf16: added before the
/// product is rounded that is above the middle, after it the middle, which goes to the even one.
/// With rows that lie close and with others, which oneDNN multiplies by other code.
TEST_P(GemmLibraryRounding, IsOnceWithWhatIsAdded) {
  for (int64_t pitch : {32, 40})
    for (bool bias : {false, true}) {
      Bytes a(factor(), Numbers(32 * pitch, 1.0 + 0x1p-7)),
          b(factor(), Numbers(32 * pitch, 1.0 + 0x1p-7)), added(sum(), Numbers(32 * pitch, 0x1p-8)),
          c(sum(), Numbers(32 * pitch, 0.0));
      const llmmem_gemm_form words = {.a = {.pitch = pitch, .transposed = 1, .step = 0},
                                      .b = {.pitch = pitch, .transposed = 0, .step = 0},
                                      .initial_pitch = bias ? 0 : pitch,
                                      .c_pitch = pitch,
                                      .c_bytes = bytesOfC(),
                                      .rows = 32,
                                      .columns = 32,
                                      .inner = 1,
                                      .terms = 1};
      gemm(&words, a.data, b.data, added.data, c.data, 1.0);
      for (int64_t i = 0; i < 32; ++i)
        for (int64_t j = 0; j < 32; ++j)
          ASSERT_EQ(c[i * pitch + j], 1.0 + 0x1p-6 + 0x1p-7)
              << "pitch " << pitch << ", bias " << bias << ", row " << i << ", column " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Types, GemmLibraryRounding, ::testing::Values(Types::BF16), nameOf);

} // namespace
