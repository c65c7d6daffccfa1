//===- ProblemIds.h - Ops and values of a problem, by the ids that files have -===//

#ifndef LLMMEM_PLANNING_MODEL_PROBLEMIDS_H
#define LLMMEM_PLANNING_MODEL_PROBLEMIDS_H

#include "llmmem/Planning/Model/Problem.h"
#include "llmmem/Support/JsonReader.h"
#include "llvm/Support/raw_ostream.h"
#include <unordered_map>

namespace llmmem::planning {

/// Reads ids in a file about a problem. An id that the problem does not have becomes index -1, so
/// that such a file can be read, and who verifies it reports the id.
class ProblemIds {
public:
  ProblemIds(const Problem &problem, JsonReader &reader) : reader(reader) {
    enter(problem.ops, ops);
    enter(problem.values, values);
  }

  bool readOp(OpIndex &op) { return read(ops, op); }
  bool readValue(ValueIndex &value) { return read(values, value); }
  bool readOps(std::vector<OpIndex> &list) {
    return reader.array([&] { return readOp(list.emplace_back(-1)); });
  }

private:
  using Map = std::unordered_map<int64_t, int32_t>; // DenseMap reserves two of the legal ids

  template <typename Item>
  static void enter(const std::vector<Item> &items, Map &map) {
    for (size_t i = 0; i < items.size(); ++i)
      map.try_emplace(items[i].id, static_cast<int32_t>(i));
  }
  bool read(const Map &map, int32_t &index) {
    int64_t id = 0;
    if (!reader.integer(id))
      return false;
    const auto found = map.find(id);
    index = found == map.end() ? -1 : found->second;
    return true;
  }

  JsonReader &reader;
  Map ops, values;
};

/// Prints the id of one of a problem's ops or values. What the problem does not have prints as
/// null, and the text does not parse.
template <typename Item>
void printId(llvm::raw_ostream &os, const std::vector<Item> &items, int32_t index) {
  if (index >= 0 && static_cast<size_t>(index) < items.size())
    os << items[index].id;
  else
    os << "null";
}

} // namespace llmmem::planning

#endif // LLMMEM_PLANNING_MODEL_PROBLEMIDS_H
