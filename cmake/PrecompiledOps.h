// For what names ops of the dialect in most of its files, whose class definitions are two
// megabytes; see LlmmemPrecompiled.cmake.
#include "Precompiled.h"
#include "llmmem/Dialect/LlmOps.h"
