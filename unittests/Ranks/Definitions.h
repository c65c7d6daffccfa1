//===- Definitions.h - Collectives against what they are defined to be -*- C++ -*-===//

#ifndef LLMMEM_UNITTESTS_RANKS_DEFINITIONS_H
#define LLMMEM_UNITTESTS_RANKS_DEFINITIONS_H

#include <cstdint>
#include <string>
#include <vector>

/// Called on every rank of a job whose mesh has `sizes`: makes every collective with every type of
/// element over every set of axes, with counts that divide the group and that do not, and compares
/// all bytes with the definition, computed here from what the other ranks hold. Returns the first
/// difference, or "".
std::string checkCollectives(const std::vector<int64_t> &sizes);

/// Does the same for f32 alone, because a transport moves bytes.
std::string checkTransport(const std::vector<int64_t> &sizes);

#endif // LLMMEM_UNITTESTS_RANKS_DEFINITIONS_H
