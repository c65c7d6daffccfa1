//===- PythonPackage.h - Where the module llmmem of this program is ---------===//

#ifndef LLMMEM_TOOLS_PYTHONPACKAGE_H
#define LLMMEM_TOOLS_PYTHONPACKAGE_H

#include <string>

namespace llmmem {

/// Returns the folder that holds the Python module llmmem, from the place of this program wherever
/// that has been moved: `../lib/llmmem/python` of an installed program, `../..` of one in a wheel,
/// the sources of one in its build folder. A build's module has no library in it, so
/// LLMMEM_LIBRARY, where it is not set, then names that of the build.
std::string findPythonPackage();

} // namespace llmmem

#endif // LLMMEM_TOOLS_PYTHONPACKAGE_H
