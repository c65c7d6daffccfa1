//===- Help.h - What --help says after the flags ---------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_OPT_HELP_H
#define LLMMEM_TOOLS_LLMMEM_OPT_HELP_H

#include <string>

namespace llmmem {

/// Commands that can be copied, the policies, the stages of the pipeline and the exit codes.
std::string helpAfterFlags();

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_OPT_HELP_H
