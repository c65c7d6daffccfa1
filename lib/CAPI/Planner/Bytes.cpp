//===- Bytes.cpp - Sizes in bytes as text ---------------------------------------===//

#include "llmmem-c/Planner.h"
#include "llmmem/CAPI/Boundary.h"
#include "llmmem/Support/ByteSize.h"

using namespace llmmem;
using namespace llmmem::capi;

llmmem_result llmmem_parse_bytes(const char *text, int64_t *bytes, char **error) {
  clear(error);
  if (!text || !bytes)
    return invalid(error, std::string(!text ? "text" : "bytes") + ": is NULL");
  llvm::Expected<int64_t> parsed = parseByteSize(text);
  if (!parsed)
    return invalid(error, llvm::toString(parsed.takeError()));
  *bytes = *parsed;
  return LLMMEM_OK;
}
