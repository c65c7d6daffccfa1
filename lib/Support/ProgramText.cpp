//===- ProgramText.cpp - Bounds of the text of a program --------------------===//

#include "llmmem/Support/ProgramText.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llmmem;
using llvm::StringRef;

static bool isOfWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; }

namespace {
/// Is a bracket that is open, and what is in it since the last comma.
struct Bracket {
  char close = 0;        // what ends it; 0 for the whole text
  bool isAffine = false; // of a map or an op on maps
  int operators = 0;     // of one element
  int elements = 1;
};

/// Holds the value of `#name = value` or `!name = type`.
struct Alias {
  int depth = 0;
  int64_t words = 0; // with those of the aliases that it names
};

class Scanner {
public:
  Scanner(StringRef file, StringRef text, const ProgramLimits &limits)
      : file(file), text(text), limits(limits), open(1) {}

  llvm::Error run() {
    while (at < text.size() && message.empty())
      readToken(text[at]);
    if (message.empty())
      return llvm::Error::success();
    return llvm::createStringError(message);
  }

private:
  void readToken(char c) {
    if (text.substr(at).starts_with("//"))
      return skipComment();
    if (isLineStart && (isOfWord(c) || c == '"' || c == '%'))
      beginStatement();
    if (!llvm::isSpace(c))
      isLineStart = joins = false;
    switch (c) {
    case '\0':
      return fail("a byte of value 0", "the text of a program");
    case '\n':
      isLineStart = true;
      return skip();
    case '"':
      return skipString();
    case '(':
      return openBracket(')');
    case '[':
      return openBracket(']');
    case '{':
      return openBracket('}');
    case '<': // not of <=
      return text.substr(at + 1).starts_with("=") ? skip() : openBracket('>');
    case ')':
    case ']':
    case '}':
    case '>':
      return closeBracket(c);
    case '-': // not of ->
      return text.substr(at).starts_with("->") ? join(2) : countOperator();
    case '+':
    case '*':
      return countOperator();
    case ',':
      return beginElement();
    case '=':
    case ':':
      return join(1);
    case '#':
    case '!':
      return readAlias();
    case '%':
    case '@':
    case '^':
      return readName();
    default:
      return isOfWord(c) ? readWord() : skip();
    }
  }

  void skip(size_t count = 1) { at += count; }

  /// Records that what comes next belongs to what is before, on another line too.
  void join(size_t count) {
    joins = true;
    skip(count);
  }

  /// Returns whether an op may begin, as in the whole text and in regions.
  bool isAmongOps() const { return open.back().close == 0 || open.back().close == '}'; }

  /// Begins a statement at the first word of a line.
  void beginStatement() {
    if (joins || !isAmongOps())
      return;
    awaitsAffine = false;
    defined = nullptr;
  }

  void skipComment() { at = std::min(text.find('\n', at), text.size()); }

  /// A string ends with its line at the latest, as the lexer has it.
  void skipString() {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      if (text[at] == '\\')
        ++at;
    ++at;
  }

  //===--------------------------------------------------------------------===//
  // Brackets
  //===--------------------------------------------------------------------===//

  void openBracket(char close) {
    const bool isRegion = close == '}';
    const bool isAffine = !isRegion && (awaitsMap || awaitsAffine || open.back().isAffine);
    open.push_back({close, isAffine});
    awaitsMap = false;
    if (isRegion)
      awaitsAffine = false;
    reach(0);
    ++at;
  }

  /// A `<` or `>` may be a sign of comparison: what another bracket closes, it closes too.
  void closeBracket(char close) {
    auto isClosed = [&](const Bracket &bracket) { return bracket.close == close; };
    if (close != '>')
      while (open.size() > 1 && open.back().close == '>' && !isClosed(open.back()))
        open.pop_back();
    if (open.size() > 1 && isClosed(open.back()))
      open.pop_back();
    ++at;
  }

  void beginElement() {
    Bracket &bracket = open.back();
    bracket.operators = 0;
    if (bracket.isAffine && ++bracket.elements > limits.names)
      fail("more than " + llvm::Twine(limits.names) + " names in a list of an affine map",
           "fewer dimensions, symbols and results");
    join(1);
  }

  /// No expression goes on from op to op.
  void countOperator() {
    Bracket &bracket = open.back();
    if (!isAmongOps() && ++bracket.operators > limits.operators)
      fail("more than " + llvm::Twine(limits.operators) + " operators in one expression",
           "an expression in parts");
    ++at;
  }

  //===--------------------------------------------------------------------===//
  // Words
  //===--------------------------------------------------------------------===//

  StringRef takeWord() {
    const size_t begin = at;
    while (at < text.size() && isOfWord(text[at]))
      ++at;
    return text.slice(begin, at);
  }

  void readName() {
    ++at;
    takeWord();
    countWord();
  }

  void readWord() {
    const StringRef word = takeWord();
    countWord();
    // This is one of the sizes of a shape: the parser looks at the rest of the word again for each.
    const bool isNumber = llvm::isDigit(word.front()) ||
                          (word.front() == 'x' && word.size() > 1 && llvm::isDigit(word[1]));
    if (isNumber && word.size() > static_cast<size_t>(limits.digits)) {
      at -= word.size();
      return fail("a number or a shape of more than " + llvm::Twine(limits.digits) + " characters",
                  "fewer dimensions or digits");
    }
    if (word == "floordiv" || word == "ceildiv" || word == "mod") {
      --at; // which counting goes beyond
      return countOperator();
    }
    awaitsMap = word == "affine_map" || word == "affine_set";
    if (isAmongOps() && word.contains('.')) { // the name of an op
      awaitsAffine = word.starts_with("affine.");
      joins = true;
    }
  }

  //===--------------------------------------------------------------------===//
  // Aliases
  //===--------------------------------------------------------------------===//

  /// `#name = value` gives the alias a value, which lasts until the next statement; elsewhere
  /// `#name` is one. `#dialect.name<...>` and `!dialect.name<...>` are none.
  void readAlias() {
    const size_t begin = at++;
    takeWord();
    const StringRef name = text.slice(begin, at);
    countWord();
    if (open.size() == 1 && text.substr(at).ltrim(" \t").starts_with("=")) {
      defined = &aliases[name];
      *defined = {};
      return;
    }
    auto known = aliases.find(name);
    if (known == aliases.end() || &known->second == defined)
      return;
    at = begin; // the place of a complaint
    expand(known->second);
    skip(name.size());
  }

  void expand(const Alias &alias) {
    reach(alias.depth);
    addWords(alias.words);
    if (defined && defined->words > limits.expanded)
      fail("an alias of more than " + llvm::Twine(limits.expanded) + " words when written out",
           "fewer aliases in each other");
  }

  void countWord() { addWords(1); }

  /// What stands here is `below` levels deep by itself.
  void reach(int below) {
    const int depth = static_cast<int>(open.size()) - 1 + below;
    if (defined)
      defined->depth = std::max(defined->depth, depth);
    if (depth > limits.depth)
      fail("nested more than " + llvm::Twine(limits.depth) + " levels deep",
           "fewer brackets, or aliases, in each other");
  }

  void addWords(int64_t count) {
    if (defined)
      defined->words += count;
  }

  void fail(const llvm::Twine &what, const llvm::Twine &expected) {
    if (!message.empty())
      return;
    const StringRef before = text.take_front(at);
    message = (file + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
               llvm::Twine(before.size() - (before.rfind('\n') + 1) + 1) + ": " + what +
               ", expected " + expected)
                  .str();
  }

  StringRef file, text;
  const ProgramLimits &limits;
  size_t at = 0;
  llvm::SmallVector<Bracket, 16> open; // the first stands for the whole text
  bool isLineStart = true;
  bool joins = false;        // the last token goes on after the end of its line
  bool awaitsMap = false;    // the next bracket is that of an affine map
  bool awaitsAffine = false; // all brackets of the op are
  llvm::StringMap<Alias> aliases;
  Alias *defined = nullptr;
  std::string message;
};
} // namespace

llvm::Error llmmem::checkProgramText(StringRef file, StringRef text, const ProgramLimits &limits) {
  return Scanner(file, text, limits).run();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> llmmem::readProgram(StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      readTextFile(path, FileKind::Program);
  if (!buffer)
    return buffer;
  const StringRef text = (*buffer)->getBuffer();
  if (text.starts_with("ML\xefR") && text.take_front(64).contains("StableHLO_v"))
    return llvm::createStringError(
        path +
        ": is a portable artifact of StableHLO, which only its own library reads; print it in "
        "generic form: stablehlo-translate --deserialize " +
        path + " | stablehlo-opt --mlir-print-op-generic -o step.mlir");
  if (text.starts_with("ML\xefR"))
    return llvm::createStringError(path + ": has MLIR's bytecode, expected text; mlir-opt " + path +
                                   " prints it");
  if (llvm::Error error = checkProgramText(path, text))
    return std::move(error);
  return buffer;
}
