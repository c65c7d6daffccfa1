//===- ChoiceParser.h - A flag with one of some named values ---------------===//
//
// LLVM's parser of an enumeration says about a wrong value only that it knows none of that name.
// This one, the third argument of a tool's `cl::opt`, says which there are:
//
//   llmmem-run: for the --device option: 'gpu' is not one of cpu, cuda, emulate
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_CHOICEPARSER_H
#define LLMMEM_SUPPORT_CHOICEPARSER_H

#include "llvm/Support/CommandLine.h"
#include <string>

namespace llmmem {

template <typename T>
class ChoiceParser : public llvm::cl::parser<T> {
public:
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, T &value) {
    std::string names;
    for (unsigned i = 0; i < this->getNumOptions(); ++i) {
      if (this->getOption(i) == text)
        return llvm::cl::parser<T>::parse(option, name, text, value);
      names += (i ? ", " : "") + this->getOption(i).str();
    }
    return option.error("'" + text + "' is not one of " + names);
  }
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_CHOICEPARSER_H
