//===- Boundary.cpp - Texts and structures that cross to C ----------------------===//

#include "llmmem/CAPI/Boundary.h"
#include <cstdlib>
#include <cstring>

using namespace llmmem;

const char *llmmem_version(void) { return LLMMEM_VERSION; }

void llmmem_free_text(char *text) { std::free(text); }

char *capi::copyText(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (!copy)
    std::abort(); // as operator new would end the process
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void capi::clear(char **error) {
  if (error)
    *error = nullptr;
}

llmmem_result capi::fail(llmmem_result result, char **error, const std::string &text) {
  if (error)
    *error = copyText(text);
  return result;
}

llmmem_result capi::invalid(char **error, const std::string &text) {
  return fail(LLMMEM_INVALID, error, text);
}
