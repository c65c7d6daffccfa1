//===- BufferCsv.cpp - The buffer lists of MiniMalloc -----------------------===//

#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

constexpr llvm::StringLiteral required[] = {"id", "lower", "upper", "size"};

class CsvReader {
public:
  llvm::Expected<BufferTable> run(llvm::StringRef text) {
    remaining = text;
    if (llvm::Error error = nextLine())
      return std::move(error);
    if (llvm::Error error = readHeader())
      return std::move(error);
    while (!remaining.empty()) {
      if (llvm::Error error = nextLine())
        return std::move(error);
      if (line.trim().empty())
        continue;
      if (llvm::Error error = readRow())
        return std::move(error);
    }
    return std::move(table);
  }

private:
  llvm::Error fail(const llvm::Twine &what) const {
    return llvm::createStringError("line " + llvm::Twine(lineNumber) + ": " + what);
  }

  /// Reads the next line. It finds a line that does not end before it looks through all of a file.
  llvm::Error nextLine() {
    constexpr size_t kLongest = 1 << 16;
    ++lineNumber;
    std::tie(line, std::ignore) = remaining.take_front(kLongest).split('\n');
    if (line.size() == kLongest)
      return fail("expected a line of fewer than " + llvm::Twine(kLongest) + " characters");
    remaining = remaining.drop_front(std::min(line.size() + 1, remaining.size()));
    return llvm::Error::success();
  }

  llvm::SmallVector<llvm::StringRef, 8> cells() const {
    constexpr int kMostColumns = 16; // more than are known; the last holds the rest of the line
    llvm::SmallVector<llvm::StringRef, 8> split;
    line.split(split, ',', kMostColumns);
    for (llvm::StringRef &cell : split)
      cell = cell.trim();
    return split;
  }

  llvm::Error readHeader() {
    llvm::SmallVector<llvm::StringRef, 8> header = cells();
    for (auto [column, name] : llvm::enumerate(header)) {
      auto *known = llvm::find(required, name);
      if (known == std::end(required) && name != "offset")
        return fail("unknown column '" + name.take_front(40) +
                    "'; expected id, lower, upper and size");
      if (llvm::count(header, name) > 1)
        return fail("column '" + name + "' is given twice");
      if (known != std::end(required))
        columnOf[known - required] = static_cast<int>(column);
    }
    for (auto [column, name] : llvm::zip(columnOf, required))
      if (column < 0)
        return fail("column '" + name + "' is missing; expected id, lower, upper and size");
    columns = header.size();
    return llvm::Error::success();
  }

  llvm::Error readRow() {
    llvm::SmallVector<llvm::StringRef, 8> row = cells();
    if (row.size() != columns)
      return fail("expected " + llvm::Twine(columns) + " cells, got " + llvm::Twine(row.size()));
    int64_t numbers[3];
    for (int i = 0; i < 3; ++i) {
      llvm::StringRef cell = row[columnOf[i + 1]];
      if (cell.getAsInteger(10, numbers[i]) || numbers[i] < 0)
        return fail("expected an integer from 0 to 2^63 - 1 as " + required[i + 1] + ", got '" +
                    cell.take_front(40) + "'");
    }
    auto [lower, upper, size] = numbers;
    if (upper <= lower)
      return fail("upper is exclusive and must be above lower");
    if (llvm::AddOverflow(total, size, total))
      return fail("the sizes add up to 2^63 or more");
    llvm::StringRef id = row[columnOf[0]];
    if (id.empty() || !ids.insert(id).second)
      return fail("the id '" + id.take_front(40) + "' is empty or is given twice");
    table.ids.push_back(id.str());
    table.buffers.push_back({lower, upper, size});
    return llvm::Error::success();
  }

  BufferTable table;
  llvm::StringSet<> ids;
  llvm::StringRef line, remaining;
  size_t lineNumber = 0, columns = 0;
  int columnOf[4] = {-1, -1, -1, -1}; // by position in `required`
  int64_t total = 0;
};

} // namespace

llvm::Expected<BufferTable> parseBufferCsv(llvm::StringRef text) { return CsvReader().run(text); }

void printBufferCsv(const BufferTable &table, const std::vector<int64_t> &offsets,
                    llvm::raw_ostream &os) {
  os << "id,lower,upper,size,offset\n";
  for (size_t i = 0; i < table.buffers.size(); ++i) {
    const Buffer &buffer = table.buffers[i];
    os << table.ids[i] << ',' << buffer.lower << ',' << buffer.upper << ',' << buffer.size << ','
       << offsets[i] << '\n';
  }
}

} // namespace llmmem::planning
