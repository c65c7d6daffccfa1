//===- ExpertGradientsTest.cpp - Rules of experts against differences ------===//

#include "GradientCheck.h"
#include "gtest/gtest.h"

using namespace llmmem::test;

namespace {

// Of 2 x 3 tokens each chooses two of four experts; no logits are so near that a difference would
// change the choice.
const Numbers kRouterLogits = {0.5, -1.0, 2.0, 0.1,  1.5, 0.2, -0.7, 0.9,  -0.4, 0.3, 1.1, 2.2,
                               0.8, 1.9,  0.0, -1.2, 2.5, 1.4, -0.3, -0.9, 0.6,  1.7, 1.0, -2.0};

TEST(ExpertGradients, RouteNormalized) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<2x3x2xf64> {
      %w, %e, %lse = llm.route %l {normalized, factor = 1.5 : f64}
         : (tensor<2x3x4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x2xf64>
    })",
                 {{0, kRouterLogits}});
}

TEST(ExpertGradients, RouteByProbability) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<2x3x2xf64> {
      %w, %e, %lse = llm.route %l
         : (tensor<2x3x4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x2xf64>
    })",
                 {{0, kRouterLogits}});
}

TEST(ExpertGradients, RouteLogisticNormalized) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<2x3x3xf64> {
      %w, %e, %lse = llm.route %l {logistic, normalized, factor = 2.5 : f64}
         : (tensor<2x3x4xf64>) -> (tensor<2x3x3xf64>, tensor<2x3x3xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x3xf64>
    })",
                 {{0, kRouterLogits}});
}

TEST(ExpertGradients, RouteLogisticWithBias) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>, %b: tensor<4xf64>) -> tensor<2x3x2xf64> {
      %w, %e, %lse = llm.route %l bias(%b) {logistic}
         : (tensor<2x3x4xf64>, tensor<4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x2xf64>
    })",
                 {{0, kRouterLogits}, {1, {0.5, 0.0, -0.25, 0.75}}});
}

TEST(ExpertGradients, RouteInGroups) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<2x3x2xf64> {
      %w, %e, %lse = llm.route %l {groups = 2 : i64, kept_groups = 1 : i64, factor = 1.5 : f64}
         : (tensor<2x3x4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x2xf64>
    })",
                 {{0, kRouterLogits}});
}

TEST(ExpertGradients, RouteInGroupsByTheirTwoBest) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<2x3x2xf64> {
      %w, %e, %lse = llm.route %l {group_best = 2 : i64, groups = 2 : i64, kept_groups = 1 : i64, logistic}
         : (tensor<2x3x4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      return %w : tensor<2x3x2xf64>
    })",
                 {{0, kRouterLogits}});
}

// Expert 1 has more choices than places, and expert 3 none.
const Numbers kExperts = {1, 0, 1, 2, 1, 0, 2, 1, 0, 1, 1, 2};

TEST(ExpertGradients, DispatchWithDroppedChoices) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>, %e: tensor<2x3x2xi32>) -> tensor<4x2x2x5xf64> {
      %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
      %y = llm.dispatch %x, %p, %c
         : (tensor<2x3x5xf64>, tensor<2x3x2xi32>, tensor<4x2x2xi32>) -> tensor<4x2x2x5xf64>
      return %y : tensor<4x2x2x5xf64>
    })",
                 {{1, kExperts}});
}

TEST(ExpertGradients, DispatchByWeights) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>, %e: tensor<2x3x2xi32>, %w: tensor<2x3x2xf64>) -> tensor<4x2x2x5xf64> {
      %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
      %y = llm.dispatch %x, %p, %c weights(%w)
         : (tensor<2x3x5xf64>, tensor<2x3x2xi32>, tensor<4x2x2xi32>, tensor<2x3x2xf64>) -> tensor<4x2x2x5xf64>
      return %y : tensor<4x2x2x5xf64>
    })",
                 {{1, kExperts}});
}

TEST(ExpertGradients, CombineWithDroppedChoices) {
  checkGradients(R"(
    func.func @f(%x: tensor<4x2x2x5xf64>, %e: tensor<2x3x2xi32>, %w: tensor<2x3x2xf64>) -> tensor<2x3x5xf64> {
      %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
      %y = llm.combine %x, %p, %c weights(%w)
         : (tensor<4x2x2x5xf64>, tensor<2x3x2xi32>, tensor<4x2x2xi32>, tensor<2x3x2xf64>) -> tensor<2x3x5xf64>
      return %y : tensor<2x3x5xf64>
    })",
                 {{1, kExperts}});
}

TEST(ExpertGradients, GroupedLinearInOut) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x2x2x4xf64>, %w: tensor<3x4x5xf64>) -> tensor<3x2x2x5xf64> {
      %y = llm.grouped_linear %x, %w layout(in_out)
         : (tensor<3x2x2x4xf64>, tensor<3x4x5xf64>) -> tensor<3x2x2x5xf64>
      return %y : tensor<3x2x2x5xf64>
    })");
}

TEST(ExpertGradients, GroupedLinearTwice) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x4x5xf64>, %w: tensor<3x5x5xf64>) -> tensor<3x4x5xf64> {
      %y = llm.grouped_linear %x, %w layout(out_in) : (tensor<3x4x5xf64>, tensor<3x5x5xf64>) -> tensor<3x4x5xf64>
      %z = llm.grouped_linear %y, %w layout(out_in) : (tensor<3x4x5xf64>, tensor<3x5x5xf64>) -> tensor<3x4x5xf64>
      return %z : tensor<3x4x5xf64>
    })");
}

TEST(ExpertGradients, ProductsOfRowsWithAChoice) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>, %e: tensor<2x3x2xi32>, %w: tensor<4x5x6xf64>, %b: tensor<4x6xf64>) -> tensor<2x3x6xf64> {
      %p, %c = llm.assign_places %e : tensor<2x3x2xi32> -> (tensor<2x3x2xi32>, tensor<4x2x2xi32>)
      %rows = llm.dispatch %x, %p, %c
         : (tensor<2x3x5xf64>, tensor<2x3x2xi32>, tensor<4x2x2xi32>) -> tensor<4x2x2x5xf64>
      %y = llm.grouped_linear %rows, %w choices(%c) layout(in_out)
         : (tensor<4x2x2x5xf64>, tensor<4x5x6xf64>, tensor<4x2x2xi32>) -> tensor<4x2x2x6xf64>
      %z = llm.add_group_bias %y, %b choices(%c)
         : (tensor<4x2x2x6xf64>, tensor<4x6xf64>, tensor<4x2x2xi32>) -> tensor<4x2x2x6xf64>
      %sum = llm.combine %z, %p, %c
         : (tensor<4x2x2x6xf64>, tensor<2x3x2xi32>, tensor<4x2x2xi32>) -> tensor<2x3x6xf64>
      return %sum : tensor<2x3x6xf64>
    })",
                 {{1, kExperts}});
}

TEST(ExpertGradients, AddGroupBias) {
  checkGradients(R"(
    func.func @f(%x: tensor<3x2x2x5xf64>, %b: tensor<3x5xf64>) -> tensor<3x2x2x5xf64> {
      %y = llm.add_group_bias %x, %b : (tensor<3x2x2x5xf64>, tensor<3x5xf64>) -> tensor<3x2x2x5xf64>
      %z = llm.add_group_bias %y, %b : (tensor<3x2x2x5xf64>, tensor<3x5xf64>) -> tensor<3x2x2x5xf64>
      %p = llm.mul %z, %z : tensor<3x2x2x5xf64>
      return %p : tensor<3x2x2x5xf64>
    })");
}

TEST(ExpertGradients, GateRows) {
  checkGradients(R"(
    func.func @f(%x: tensor<2x3x5xf64>, %g: tensor<2x3x1xf64>) -> tensor<2x3x5xf64> {
      %y = llm.gate_rows %x, %g : (tensor<2x3x5xf64>, tensor<2x3x1xf64>) -> tensor<2x3x5xf64>
      return %y : tensor<2x3x5xf64>
    })");
}

TEST(ExpertGradients, BalanceLoss) {
  checkGradients(R"(
    func.func @f(%l: tensor<2x3x4xf64>) -> tensor<f64> {
      %w, %e, %lse = llm.route %l {normalized}
         : (tensor<2x3x4xf64>) -> (tensor<2x3x2xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>)
      %counts, %sums = llm.router_load %l, %e, %lse
         : (tensor<2x3x4xf64>, tensor<2x3x2xi32>, tensor<2x3xf64>) -> (tensor<4xf64>, tensor<4xf64>)
      %y = llm.balance_loss %counts, %sums {coefficient = 0.5 : f64, tokens = 6 : i64}
         : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
      return %y : tensor<f64>
    })",
                 {{0, kRouterLogits}});
}

} // namespace
