//===- GroupableOpInterface.cpp --------------------------------------------===//

#include "llmmem/Interfaces/GroupableOpInterface.h"

#include "llmmem/Interfaces/GroupableOpInterface.cpp.inc"
