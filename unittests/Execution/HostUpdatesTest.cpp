//===- HostUpdatesTest.cpp - Updates on the host of a step for a GPU -------===//
//
// The host runs the kernel that a step on a CPU has, so all that is updated has that one's bits,
// whatever the kernels of the device are.
//
//===----------------------------------------------------------------------===//

#include "StepRunner.h"
#include "llmmem/Emulation/Emulator.h"
#include "gtest/gtest.h"

using namespace llmmem;
using namespace llmmem::test;

namespace {

constexpr int64_t kSize = 5003; // pieces of 4096, vectors and a rest

struct Update {
  const char *name;
  /// The op on a parameter %q and a gradient %g that lie on the host.
  const char *op;
};

void PrintTo(const Update &update, std::ostream *os) { *os << update.name; }

class HostUpdatesOfGpu : public ::testing::TestWithParam<std::tuple<Update, std::string>> {};

/// The gradient and the parameter go to the host, the update overlaps with nothing, and the new
/// parameter is copied to the device into the old one. Both moments are arguments that lie on the
/// host. `V` stands for tensors of T, and `M` for moments.
std::string textOf(const Update &update, const std::string &element) {
  std::string text = R"(
  func.func @step(%p: V> {llm.donated = 0 : i64}, %x: V>, %m: M {llm.donated = 1 : i64}, %v: M {llm.donated = 2 : i64},
      %lr: tensor<f32, #llm.host>, %t: tensor<i32, #llm.host>) -> (V>, M, M)
      attributes {llm.arena = 0 : i64, llm.host_arena = 81920 : i64} {
    %up = llm.copy_up %x {llm.offsets = array<i64: 0>, llm.started} : (V>) -> V, #llm.host>
    %up1 = llm.copy_up %p {llm.offsets = array<i64: 40960>, llm.started} : (V>) -> V, #llm.host>
    %g = llm.wait %up {llm.offsets = array<i64: 0>} : V, #llm.host>
    %q = llm.wait %up1 {llm.offsets = array<i64: 40960>} : V, #llm.host>
    OP
    %down = llm.copy_down %q1 into(%p) {llm.offsets = array<i64: -1>} : (V, #llm.host>, V>) -> V>
    return %down, %m1, %v1 : V>, M, M
  })";
  auto replace = [&](const std::string &what, const std::string &by) {
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), by);
  };
  replace("OP", update.op);
  replace("V>", "tensor<" + std::to_string(kSize) + "x" + element + ">");
  replace("V,", "tensor<" + std::to_string(kSize) + "x" + element + ",");
  replace(" M", " tensor<" + std::to_string(kSize) + "xf32, #llm.host>");
  replace("(M", "(tensor<" + std::to_string(kSize) + "xf32, #llm.host>");
  return text;
}

TEST_P(HostUpdatesOfGpu, GiveTheBitsOfTheCpu) {
  if (!emulation::isEmulatorBuilt())
    GTEST_SKIP() << "built without the emulator";
  auto [update, element] = GetParam();
  std::string text = textOf(update, element);
  Numbers p = someNumbers(kSize, 1), x = someNumbers(kSize, 2), m = someNumbers(kSize, 3), v = m;
  for (double &value : v)
    value *= value;
  std::vector<Numbers> arguments = {p, x, m, v, {0.0078125}, {3}};
  RunOptions options = {.plan = false};
  std::vector<Numbers> expected = runStep(text, arguments, options);
  options.emulate = true;
  std::vector<Numbers> found = runStep(text, arguments, options);
  ASSERT_EQ(expected.size(), 3u);
  EXPECT_NE(expected[0], p);
  EXPECT_EQ(found, expected);
}

constexpr Update updates[] = {
    {"adamw", R"(%q0, %m0, %v0 = llm.adamw %q, %g, %m, %v, %lr, %t
      {llm.offsets = array<i64: 40960, -1, -1>, llm.started, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (V, #llm.host>, V, #llm.host>, M, M, tensor<f32, #llm.host>, tensor<i32, #llm.host>) -> (V, #llm.host>, M, M)
    %q1, %m1, %v1 = llm.wait %q0, %m0, %v0 {llm.offsets = array<i64: 40960, -1, -1>} : V, #llm.host>, M, M)"},
    {"adamw_at_once", R"(%q1, %m1, %v1 = llm.adamw %q, %g, %m, %v, %lr, %t
      {llm.offsets = array<i64: 40960, -1, -1>, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (V, #llm.host>, V, #llm.host>, M, M, tensor<f32, #llm.host>, tensor<i32, #llm.host>) -> (V, #llm.host>, M, M))"},
    {"lion_and_sgd", R"(%q0, %m0 = llm.lion %q, %g, %lr state(%m)
      {llm.offsets = array<i64: 40960, -1>, llm.started, beta1 = 0.5 : f64, beta2 = 0.75 : f64, weight_decay = 0.5 : f64}
      : (V, #llm.host>, V, #llm.host>, tensor<f32, #llm.host>, M) -> (V, #llm.host>, M)
    %q2, %v0 = llm.sgd %q0, %g, %lr state(%v)
      {llm.offsets = array<i64: 40960, -1>, llm.started, momentum = 0.75 : f64, weight_decay = 0.5 : f64}
      : (V, #llm.host>, V, #llm.host>, tensor<f32, #llm.host>, M) -> (V, #llm.host>, M)
    %q3, %m1 = llm.wait %q0, %m0 {llm.offsets = array<i64: 40960, -1>} : V, #llm.host>, M
    %q1, %v1 = llm.wait %q2, %v0 {llm.offsets = array<i64: 40960, -1>} : V, #llm.host>, M)"},
};

std::string nameOf(const ::testing::TestParamInfo<HostUpdatesOfGpu::ParamType> &info) {
  return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, HostUpdatesOfGpu,
                         ::testing::Combine(::testing::ValuesIn(updates),
                                            ::testing::Values("f32", "bf16")),
                         nameOf);

} // namespace
