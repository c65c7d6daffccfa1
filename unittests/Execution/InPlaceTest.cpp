//===- InPlaceTest.cpp - Results on their operands' bytes, and fill pattern ===//
//
// Every op that may be in place of an operand runs out of place and in place: the bits are equal.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

using namespace llmmem::test;

namespace {

/// An op on %a (its operand to take over, [2,3,24] or as `shape` says) and %b, %w, ... of @step.
struct Case {
  const char *name;
  const char *op; // gives %y from %a
  const char *shape = "2x3x24xT";
  const char *before = ""; ///< gives what else it reads
};

const Case kCases[] = {
    {"gelu", "%y = llm.gelu %a : tensor<2x3x24xT>"},
    {"silu", "%y = llm.silu %a : tensor<2x3x24xT>"},
    {"add", "%y = llm.add %b, %a : tensor<2x3x24xT>"},
    {"mul", "%y = llm.mul %a, %b : tensor<2x3x24xT>"},
    {"gelu_grad", "%y = llm.gelu_grad %b, %a : tensor<2x3x24xT>"},
    {"silu_grad", "%y = llm.silu_grad %a, %b : tensor<2x3x24xT>"},
    {"softmax", "%y = llm.softmax %a : tensor<2x3x24xT>"},
    {"softmax_grad", "%y = llm.softmax_grad %b, %a : tensor<2x3x24xT>"},
    {"rope", "%y = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64} : tensor<2x3x24xT>"},
    {"rope_part", "%y = llm.rope %a {heads = 2 : i64, theta = 100.0 : f64, rotary = 4 : i64} : "
                  "tensor<2x3x24xT>"},
    {"scale", "%y = llm.scale %a {factor = 3.0 : f64} : tensor<2x3x24xT>"},
    {"softcap", "%y = llm.softcap %a {cap = 0.5 : f64} : tensor<2x3x24xT>"},
    {"softcap_grad", "%y = llm.softcap_grad %b, %a {cap = 2.0 : f64} : tensor<2x3x24xT>"},
    {"dropout",
     "%y = llm.dropout %a, %s {p = 0.5 : f64, key = 1 : i64} : tensor<2x3x24xT>, tensor<2xi32>"},
    {"add_positions",
     "%y = llm.add_positions %a, %t : (tensor<2x3x24xT>, tensor<3x24xT>) -> tensor<2x3x24xT>"},
    {"layer_norm_grad", "%y = llm.layer_norm_grad %b, %m, %m, %w, %a : (tensor<2x3x24xT>, "
                        "tensor<2x3xW>, tensor<2x3xW>, "
                        "tensor<24xT>, tensor<2x3x24xT>) -> tensor<2x3x24xT>"},
    {"rms_norm_grad",
     "%y = llm.rms_norm_grad %a, %m, %w, %b : (tensor<2x3x24xT>, tensor<2x3xW>, tensor<24xT>, "
     "tensor<2x3x24xT>) -> tensor<2x3x24xT>"},
    {"cross_entropy_grad",
     "%y = llm.cross_entropy_grad %a, %m, %i, %d : (tensor<2x3x24xT>, tensor<2x3xW>, "
     "tensor<2x3xi32>, tensor<W>) -> tensor<2x3x24xT>"},
    {"linear_weight_grad",
     "%y = llm.linear_weight_grad %b, %b into(%a) layout(in_out) : (tensor<2x3x24xT>, "
     "tensor<2x3x24xT>, tensor<24x24xT>) -> tensor<24x24xT>",
     "24x24xT"},
    {"sum_rows", "%y = llm.sum_rows %b into(%a) : (tensor<2x3x24xT>, tensor<24xT>) -> tensor<24xT>",
     "24xT"},
    {"embedding_grad",
     "%y = llm.embedding_grad %i, %b into(%a) : (tensor<2x3xi32>, tensor<2x3x24xT>, "
     "tensor<24x24xT>) "
     "-> tensor<24x24xT>",
     "24x24xT"},
    {"attention_sink_grad",
     "%y = llm.attention_sink_grad %k, %b, %l, %b into(%a) : (tensor<1xT>, tensor<2x3x24xT>, "
     "tensor<2x1x3xW>, tensor<2x3x24xT>, tensor<1xT>) -> tensor<1xT>",
     "1xT",
     "%k = llm.fill {llm.offsets = array<i64: 12288>, value = 0.5 : f64} : tensor<1xT>\n"
     "%l = llm.reshape %m {llm.offsets = array<i64: -1>} : tensor<2x3xW> -> tensor<2x1x3xW>\n"},
    {"sum_group_rows",
     "%y = llm.sum_group_rows %b into(%a) : (tensor<2x3x24xT>, tensor<2x24xT>) -> tensor<2x24xT>",
     "2x24xT"},
    {"add_group_bias",
     "%y = llm.add_group_bias %a, %k : (tensor<2x3x24xT>, tensor<2x24xT>) -> tensor<2x3x24xT>",
     "2x3x24xT",
     "%k = llm.fill {llm.offsets = array<i64: 12288>, value = 0.5 : f64} : tensor<2x24xT>\n"},
    {"clamp", "%y = llm.clamp %a {high = 0.25 : f64} : tensor<2x3x24xT>"},
    {"clamp_grad", "%y = llm.clamp_grad %b, %a {low = -0.25 : f64} : tensor<2x3x24xT>"},
    {"positions_grad",
     "%y = llm.positions_grad %b into(%a) : (tensor<2x3x24xT>, tensor<24x24xT>) -> tensor<24x24xT>",
     "24x24xT"},
    {"norm_weight_grad",
     "%y = llm.norm_weight_grad %b, %b, %m into(%a) : (tensor<2x3x24xT>, tensor<2x3x24xT>, "
     "tensor<2x3xW>, tensor<24xT>) -> tensor<24xT>",
     "24xT"},
    // One value as two operands, of which each may be taken over.
    {"add_itself", "%y = llm.add %a, %a : tensor<2x3x24xT>"},
    {"mul_itself", "%y = llm.mul %a, %a : tensor<2x3x24xT>"},
    {"gelu_grad_itself", "%y = llm.gelu_grad %a, %a : tensor<2x3x24xT>"},
    {"silu_grad_itself", "%y = llm.silu_grad %a, %a : tensor<2x3x24xT>"},
    {"softmax_grad_itself", "%y = llm.softmax_grad %a, %a : tensor<2x3x24xT>"},
    {"softcap_grad_itself", "%y = llm.softcap_grad %a, %a {cap = 2.0 : f64} : tensor<2x3x24xT>"},
    {"clamp_grad_itself", "%y = llm.clamp_grad %a, %a {low = -0.25 : f64} : tensor<2x3x24xT>"},
    {"layer_norm_grad_itself",
     "%y = llm.layer_norm_grad %a, %m, %m, %w, %a : (tensor<2x3x24xT>, tensor<2x3xW>, "
     "tensor<2x3xW>, tensor<24xT>, tensor<2x3x24xT>) -> tensor<2x3x24xT>"},
    {"rms_norm_grad_itself",
     "%y = llm.rms_norm_grad %a, %m, %w, %a : (tensor<2x3x24xT>, tensor<2x3xW>, tensor<24xT>, "
     "tensor<2x3x24xT>) -> tensor<2x3x24xT>"},
};

class InPlace : public KernelTest {
protected:
  /// A copy of the argument at byte 0 of the arena, then the op with its result at `offset`.
  std::string textOf(const Case &test, int offset) {
    std::string type = std::string("tensor<") + test.shape + ">", op = test.op;
    std::string plan = "{llm.offsets = array<i64: " + std::to_string(offset) + ">";
    // Attributes go before the types: into the dictionary, or in front of the last colon's
    // signature.
    size_t brace = op.find('{');
    if (brace != std::string::npos)
      op.replace(brace, 1, plan + ", ");
    else
      op.insert(op.find(" : "), " " + plan + "}");
    return "func.func @step(%x: " + type +
           ", %b: tensor<2x3x24xT>, %t: tensor<3x24xT>, %w: tensor<24xT>, %m: tensor<2x3xW>, %i: "
           "tensor<2x3xi32>, "
           "%s: tensor<2xi32>, %d: tensor<W>) -> " +
           type +
           " attributes {llm.arena = 16384 : i64} {\n"
           "  %a = llm.cast %x {llm.offsets = array<i64: 0>} : " +
           type + " -> " + type + "\n  " + test.before + op + "\n  return %y : " + type + "\n}";
  }

  std::vector<Numbers> argumentsFor(const Case &test) {
    int64_t count = 1;
    for (std::string_view rest = test.shape; rest != "T"; rest.remove_prefix(rest.find('x') + 1))
      count *= std::atoi(rest.data());
    return {someNumbers(count, 1),
            someNumbers(144, 2),
            someNumbers(72, 3),
            someNumbers(24, 4),
            someNumbers(6, 5),
            {3, 0, 3, 23, -100, 3},
            {1, 2},
            {1.0}};
  }
};

TEST_P(InPlace, GivesTheSameBits) {
  for (const Case &test : kCases) {
    SCOPED_TRACE(test.name);
    Numbers apart = runWide(textOf(test, 8192), argumentsFor(test), {.plan = false})[0];
    Numbers inPlace = runWide(textOf(test, 0), argumentsFor(test), {.plan = false})[0];
    EXPECT_EQ(apart, inPlace);
    EXPECT_EQ(apart, runWide(textOf(test, 8192), argumentsFor(test),
                             {.plan = false, .fillDeadBytes = true})[0]);
    EXPECT_EQ(apart, runWide(textOf(test, 0), argumentsFor(test),
                             {.plan = false, .fillDeadBytes = true})[0]);
  }
}

LLMMEM_ALL_ELEMENT_TYPES(InPlace);

} // namespace
