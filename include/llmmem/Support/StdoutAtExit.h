//===- StdoutAtExit.h - A message where stdout takes no more ---------------===//
//
// Flags such as --help print and end the process by themselves, and LLVM ends it in its own words
// where a stream has an error that nobody read. A tool that calls this first says so in ours.
//
//   int main(int argc, char **argv) {
//     llvm::InitLLVM init(argc, argv);
//     checkStdoutAtExit("llmmem-plan");
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_STDOUTATEXIT_H
#define LLMMEM_SUPPORT_STDOUTATEXIT_H

namespace llmmem {

/// From now on, an exit of the process writes out what llvm::outs() still buffers. Where the system
/// does not take it, stderr says why, as of `tool`, and the exit code is ExitBadInput. An error of
/// stderr changes no exit code. `tool` is kept.
void checkStdoutAtExit(const char *tool);

} // namespace llmmem

#endif // LLMMEM_SUPPORT_STDOUTATEXIT_H
