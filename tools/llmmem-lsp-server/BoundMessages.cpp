//===- BoundMessages.cpp - An editor's messages, within bounds --------------===//

#include "BoundMessages.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/ProgramText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llmmem;

/// Returns the text of an op that no dialect has, at `line` and `column`, both from 1.
static std::string unknownOpAt(unsigned line, unsigned column, StringRef what) {
  std::string text(line - 1, '\n');
  text.append(column - 1, ' ');
  for (char c : what)
    text += isAlnum(c) ? c : '_';
  return text + "\n";
}

/// Returns what MLIR reads instead of `text`.
static std::string boundText(StringRef text) {
  std::string message = toString(checkProgramText("", text));
  if (message.empty())
    return text.str();
  // ":line:column: what, expected what"
  unsigned line = 1, column = 1;
  StringRef rest = message;
  rest.consume_front(":");
  rest.consumeInteger(10, line);
  rest.consume_front(":");
  rest.consumeInteger(10, column);
  rest.consume_front(": ");
  return unknownOpAt(line, column, rest.split(',').first);
}

static void boundMember(json::Object &object) {
  if (std::optional<StringRef> text = object.getString("text"))
    object["text"] = boundText(*text);
}

/// Bounds the texts of textDocument/didOpen and didChange.
static std::string boundMessage(StringRef message) {
  Expected<json::Value> value = parseJsonTree(message);
  if (!value) {
    errs() << "llmmem-lsp-server: a message is left out: " << toString(value.takeError()) << "\n";
    return "";
  }
  json::Object *object = value->getAsObject();
  json::Object *parameters = object ? object->getObject("params") : nullptr;
  if (!parameters)
    return message.str();
  if (json::Object *document = parameters->getObject("textDocument"))
    boundMember(*document);
  if (json::Array *changes = parameters->getArray("contentChanges"))
    for (json::Value &change : *changes)
      if (json::Object *part = change.getAsObject())
        boundMember(*part);
  return formatv("{0}", *value).str();
}

/// Returns the length that a message's headers say, or none at the end of the stream.
static std::optional<size_t> readHeaders(FILE *from) {
  char line[1024];
  std::optional<size_t> length;
  while (fgets(line, sizeof line, from)) {
    StringRef header = StringRef(line).rtrim("\r\n");
    if (header.empty() && length)
      return length;
    size_t bytes = 0;
    if (header.consume_front_insensitive("Content-Length:") &&
        !header.trim().getAsInteger(10, bytes))
      length = bytes;
  }
  return std::nullopt;
}

static void passOn(FILE *from, FILE *to) {
  constexpr size_t kMost = size_t(1) << 30;
  while (std::optional<size_t> length = readHeaders(from)) {
    if (*length > kMost)
      break;
    std::string message(*length, '\0');
    if (fread(message.data(), 1, *length, from) != *length)
      break;
    message = boundMessage(message);
    if (message.empty())
      continue;
    fprintf(to, "Content-Length: %zu\r\n\r\n", message.size());
    fwrite(message.data(), 1, message.size(), to);
    fflush(to);
  }
  fclose(to);
}

bool llmmem::boundMessages() {
  int ends[2];
  int editor = dup(STDIN_FILENO);
  if (editor < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  close(ends[0]);
  FILE *from = fdopen(editor, "r"), *to = fdopen(ends[1], "w");
  if (!from || !to)
    return false;
  std::thread(passOn, from, to).detach();
  return true;
}
