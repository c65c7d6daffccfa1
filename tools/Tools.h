//===- Tools.h - The tools that the program llmmem consists of --*- C++ -*-===//
//
// Each function is a tool: it reads the command line, whose first word is the tool's name, and
// returns the exit code (Support/ExitCode.h). A tool registers its flags when it runs, since
// several tools have flags of the same names. A process calls one of these functions, once.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_TOOLS_H
#define LLMMEM_TOOLS_TOOLS_H

namespace llmmem {

int bundleMain(int argc, char **argv);
int emulateMain(int argc, char **argv);
int fitMain(int argc, char **argv);
int importMain(int argc, char **argv);
int optMain(int argc, char **argv);
int planMain(int argc, char **argv);
int runMain(int argc, char **argv);

} // namespace llmmem

#endif // LLMMEM_TOOLS_TOOLS_H
