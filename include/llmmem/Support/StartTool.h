//===- StartTool.h - What every tool does first -----------------------------===//
//
//   int main(int argc, char **argv) {
//     llvm::InitLLVM init(argc, argv);
//     startTool("llmmem-plan");
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_STARTTOOL_H
#define LLMMEM_SUPPORT_STARTTOOL_H

namespace llmmem {

/// From now on the process ends in the words of `tool`, which is kept, and not in LLVM's:
/// - An exit writes out what llvm::outs() still buffers, as flags such as --help print and end the
///   process by themselves. Where the system does not take it, stderr says why, and the exit code
///   is ExitBadInput. An error of stderr changes no exit code.
/// - A crash asks for a report to llmmem: LLVM's developers can do nothing about it.
void startTool(const char *tool);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_STARTTOOL_H
