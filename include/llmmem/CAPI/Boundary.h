//===- Boundary.h - Texts and structures that cross to C ------------------------===//

#ifndef LLMMEM_CAPI_BOUNDARY_H
#define LLMMEM_CAPI_BOUNDARY_H

#include "llmmem-c/Base.h"
#include "llmmem/Support/Result.h"

namespace llmmem::capi {

/// Returns a copy of `text` for llmmem_free_text.
char *copyText(const std::string &text);

/// Sets `error`, which may be null, to null: a function does that first.
void clear(char **error);

/// Sets `error`, which may be null, to a copy of `text`, and returns `result`.
llmmem_result fail(llmmem_result result, char **error, const std::string &text);

/// Does the same for a wrong argument.
llmmem_result invalid(char **error, const std::string &text);

/// Begins a call whose result goes into `out`, and sets that and `error` to null. Returns whether
/// the caller gave an `out`; if not, `error` says so, and the call is LLMMEM_INVALID.
template <typename T>
bool begin(T **out, const char *name, char **error) {
  clear(error);
  if (out)
    *out = nullptr;
  else
    invalid(error, std::string(name) + ": is NULL");
  return out;
}

/// Takes a structure of the caller as this library knows it. Fails where the size cannot be one of
/// this structure, or where the caller sets what this library lacks.
template <typename Struct>
Result<Struct> take(const Struct *given, const char *name) {
  if (!given)
    return Failure{std::string(name) + ": is NULL"};
  // No structure is smaller than in version 0.1.0. Once a field is added after those, this is a
  // constant, and what a smaller structure lacks is zero.
  if (given->size < sizeof(Struct))
    return Failure{std::string(name) + ": size is " + std::to_string(given->size) +
                   "; initialise it with LLMMEM_INIT"};
  const auto *bytes = reinterpret_cast<const char *>(given);
  for (size_t byte = sizeof(Struct); byte < given->size; ++byte)
    if (bytes[byte])
      return Failure{std::string(name) + ": asks for what llmmem " + llmmem_version() +
                     " does not know"};
  return *given;
}

} // namespace llmmem::capi

#endif // LLMMEM_CAPI_BOUNDARY_H
