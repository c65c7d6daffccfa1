//===- UpdateKernelsTest.cpp - Optimizer updates against plain C++ ---------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

class UpdateKernels : public KernelTest {
protected:
  static constexpr int kSize = 21;
  Numbers p = someNumbers(kSize, 1), g = someNumbers(kSize, 2), m = someNumbers(kSize, 3),
          v = someNumbers(kSize, 4);
  Numbers master = someNumbers(kSize, 5);
  UpdateKernels() {
    for (double &value : v)
      value = std::abs(value);
  }
};

struct AdamW {
  Numbers p, m, v;
};

AdamW adamw(Numbers p, Numbers g, Numbers m, Numbers v, double lr, int t, double clip) {
  for (size_t i = 0; i < p.size(); ++i) {
    double gradient = g[i] * clip;
    p[i] *= 1.0 - lr * 0.1;
    m[i] = 0.9 * m[i] + 0.1 * gradient;
    v[i] = 0.999 * v[i] + 0.001 * gradient * gradient;
    p[i] -= lr / (1.0 - std::pow(0.9, t)) * m[i] /
            (std::sqrt(v[i]) / std::sqrt(1.0 - std::pow(0.999, t)) + 1e-8);
  }
  return {p, m, v};
}

TEST_P(UpdateKernels, AdamWOnAParameterItself) {
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %m: tensor<21xW>, %v: tensor<21xW>,
      %lr: tensor<W>, %t: tensor<i32>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>) {
    %0, %1, %2 = llm.adamw %p, %g, %m, %v, %lr, %t
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<W>, tensor<i32>) -> (tensor<21xT>, tensor<21xW>, tensor<21xW>)
    return %0, %1, %2 : tensor<21xT>, tensor<21xW>, tensor<21xW>
  })",
      {p, g, m, v, {0.0078125}, {3}});
  AdamW expected = adamw(p, g, m, v, 0.0078125, 3, 1.0);
  expectNear(r[0], expected.p, tolerance());
  expectNear(r[1], expected.m, toleranceOf(wide()));
  expectNear(r[2], expected.v, toleranceOf(wide()));
}

TEST_P(UpdateKernels, AdamWOnAMasterCopyClippedByANorm) {
  std::vector<Numbers> r = runWide(
      R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %m: tensor<21xW>, %v: tensor<21xW>,
      %lr: tensor<W>, %t: tensor<i32>, %w: tensor<21xW>) -> (tensor<21xT>, tensor<21xW>, tensor<W>) {
    %n = llm.global_norm %g, %g : (tensor<21xT>, tensor<21xT>) -> tensor<W>
    %0, %1, %2, %3 = llm.adamw %p, %g, %m, %v, %lr, %t master(%w) norm(%n)
      {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.5 : f64}
      : (tensor<21xT>, tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<W>, tensor<i32>, tensor<21xW>, tensor<W>)
      -> (tensor<21xT>, tensor<21xW>, tensor<21xW>, tensor<21xW>)
    return %0, %3, %n : tensor<21xT>, tensor<21xW>, tensor<W>
  })",
      {p, g, m, v, {0.0078125}, {3}, master});
  double square = 0.0;
  for (double value : g)
    square += 2.0 * value * value;
  AdamW expected = adamw(master, g, m, v, 0.0078125, 3, 0.5 / (std::sqrt(square) + 1e-6));
  expectNear(r[0], expected.p, tolerance());
  expectNear(r[1], expected.p, toleranceOf(wide()));
  expectNear(r[2], {std::sqrt(square)}, toleranceOf(wide()));
}

/// 300 pieces of 4096, more than there are turns, and a rest.
TEST_P(UpdateKernels, NormOfManyPieces) {
  Numbers x = someNumbers(300 * 4096 + 7, 5);
  double square = 0.0;
  for (double value : x)
    square += value * value;
  expectNear(runWide(R"(func.func @step(%x: tensor<1228807xT>) -> tensor<W> {
    %n = llm.global_norm %x : (tensor<1228807xT>) -> tensor<W>
    return %n : tensor<W>
  })",
                     {x})[0],
             {std::sqrt(square)}, toleranceOf(wide()));
}

TEST_P(UpdateKernels, SGD) {
  Numbers expected;
  for (int i = 0; i < kSize; ++i)
    expected.push_back(p[i] - 0.25 * (g[i] + 0.5 * p[i]));
  expectNear(
      runWide(
          R"(func.func @step(%p: tensor<21xT>, %g: tensor<21xT>, %lr: tensor<W>) -> tensor<21xT> {
    %0 = llm.sgd %p, %g, %lr {weight_decay = 0.5 : f64} : (tensor<21xT>, tensor<21xT>, tensor<W>) -> tensor<21xT>
    return %0 : tensor<21xT>
  })",
          {p, g, {0.25}})[0],
      expected, tolerance());
}

LLMMEM_ALL_ELEMENT_TYPES(UpdateKernels);

} // namespace
