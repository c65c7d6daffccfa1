//===- GroupText.cpp - The text of an op whose body is ops of the dialect --===//

#include "GroupText.h"

using namespace mlir;

ParseResult llmmem::llm::parseGroup(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  Region *body = result.addRegion();
  SMLoc start = parser.getCurrentLocation();
  FunctionType type;
  if (parser.parseAssignmentList(arguments, operands) || parser.parseColon() ||
      parser.parseType(type))
    return failure();
  if (type.getNumInputs() != operands.size())
    return parser.emitError(start) << "expected " << operands.size() << " operand types";
  for (auto [argument, input] : llvm::zip_equal(arguments, type.getInputs()))
    argument.type = input;
  result.addTypes(type.getResults());
  return failure(parser.resolveOperands(operands, type.getInputs(), start, result.operands) ||
                 parser.parseRegion(*body, arguments) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes));
}

void llmmem::llm::printGroup(OpAsmPrinter &printer, Operation *op, ArrayRef<StringRef> elided) {
  Region &body = op->getRegion(0);
  printer << '(';
  llvm::interleaveComma(
      llvm::zip_equal(body.getArguments(), op->getOperands()), printer,
      [&](auto pair) { printer << std::get<0>(pair) << " = " << std::get<1>(pair); });
  printer << ") : ";
  printer.printFunctionalType(op->getOperandTypes(), op->getResultTypes());
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
}
