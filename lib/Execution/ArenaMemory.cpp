//===- ArenaMemory.cpp - The arena of a run, and how much of it was touched ===//

#include "llmmem/Execution/ArenaMemory.h"
#include "llmmem/Alignment.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace llmmem;

static constexpr char kPattern = '\xA5';

static int64_t pageBytes() { return sysconf(_SC_PAGESIZE); }

llvm::Expected<ArenaMemory> ArenaMemory::allocate(int64_t bytes) {
  int64_t page = pageBytes();
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() / 2)
    return llvm::createStringError("cannot allocate an arena of %lld bytes",
                                   static_cast<long long>(bytes));
  ArenaMemory arena;
  arena.bytes = bytes;
  arena.mapped = llvm::alignTo(std::max<int64_t>(bytes, 1), page) + 2 * page;
  void *mapping =
      mmap(nullptr, arena.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return llvm::createStringError("cannot map an arena of %lld bytes: %s",
                                   static_cast<long long>(bytes), std::strerror(errno));
  arena.mapping = static_cast<char *>(mapping);
  char *begin = arena.mapping + page, *end = arena.mapping + arena.mapped - page;
  if (mprotect(begin, end - begin, PROT_READ | PROT_WRITE) != 0)
    return llvm::createStringError("cannot map an arena of %lld bytes: %s",
                                   static_cast<long long>(bytes), std::strerror(errno));
  // A huge page would count as touched if one of its bytes is.
  madvise(begin, end - begin, MADV_NOHUGEPAGE);
  arena.first = end - llvm::alignTo(std::max<int64_t>(bytes, 1), kArenaAlignment);
  char *lastPage = std::max(end - page, arena.first);
  std::memset(lastPage, kPattern, end - lastPage);
  return arena;
}

ArenaMemory::~ArenaMemory() {
  if (mapping)
    munmap(mapping, mapped);
}

void ArenaMemory::swap(ArenaMemory &other) {
  std::swap(mapping, other.mapping);
  std::swap(mapped, other.mapped);
  std::swap(first, other.first);
  std::swap(bytes, other.bytes);
}

llvm::SmallVector<unsigned char> ArenaMemory::residentPages() const {
  int64_t page = pageBytes();
  llvm::SmallVector<unsigned char> resident((mapped - 2 * page) / page, 1);
  // If mincore fails, every page counts.
  mincore(mapping + page, mapped - 2 * page, resident.data());
  return resident;
}

/// Returns one past the last byte that is not `value`; `begin` where there is none.
static const char *endOfChange(const char *begin, const char *end, char value) {
  while (end != begin && end[-1] == value)
    --end;
  return end;
}

int64_t ArenaMemory::measureHighWater() const {
  if (bytes == 0)
    return 0;
  int64_t page = pageBytes();
  llvm::SmallVector<unsigned char> resident = residentPages();
  for (int64_t number = resident.size() - 1; number >= 0; --number) {
    if (!(resident[number] & 1))
      continue;
    bool isLast = number + 1 == static_cast<int64_t>(resident.size());
    const char *begin = std::max(mapping + page * (number + 1), first),
               *end = mapping + page * (number + 2);
    const char *changed = endOfChange(begin, end, isLast ? kPattern : 0);
    if (!isLast && changed == begin)
      changed = end; // Touched, and holds zeros.
    int64_t mark = changed - first;
    if (mark > bytes)
      return mark; // Beyond the arena, in the padding up to the page.
    if (changed != begin)
      return std::min<int64_t>(llvm::alignTo(mark, kArenaAlignment), bytes);
  }
  return 0;
}

int64_t ArenaMemory::measureTouchedPages() const {
  int64_t pages = 0;
  for (unsigned char resident : residentPages())
    pages += resident & 1;
  return pages * pageBytes();
}
