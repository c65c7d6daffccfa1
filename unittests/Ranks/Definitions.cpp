//===- Definitions.cpp - Collectives against what they are defined to be ---===//

#include "Definitions.h"
#include "llmmem/Runtime/Collectives.h"
#include <bit>
#include <cstring>
#include <sstream>

namespace {

using Bytes = std::vector<char>;

template <typename T>
struct Element;
template <>
struct Element<float> {
  using Sum = float;
  static constexpr int64_t code = LLMMEM_ELEMENT_F32;
};
template <>
struct Element<double> {
  using Sum = double;
  static constexpr int64_t code = LLMMEM_ELEMENT_F64;
};
template <>
struct Element<int32_t> {
  using Sum = uint32_t;
  static constexpr int64_t code = LLMMEM_ELEMENT_I32;
};
struct BFloat {
  uint16_t bits;
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static BFloat of(float value) {
    uint32_t bits = std::bit_cast<uint32_t>(value), low = bits & 0xFFFF, kept = bits >> 16;
    bool isUp = low > 0x8000 || (low == 0x8000 && kept % 2 == 1);
    return {static_cast<uint16_t>(kept + isUp)};
  }
};
template <>
struct Element<BFloat> {
  using Sum = float;
  static constexpr int64_t code = LLMMEM_ELEMENT_BF16;
};

template <>
struct Element<_Float16> {
  using Sum = float;
  static constexpr int64_t code = LLMMEM_ELEMENT_F16;
};

template <typename T>
T make(double value) {
  return static_cast<T>(value);
}
template <>
BFloat make<BFloat>(double value) {
  return BFloat::of(static_cast<float>(value));
}

/// One group of a rank, and what every member of it holds.
template <typename T>
class GroupCheck {
public:
  GroupCheck(const std::vector<int64_t> &sizes, int64_t axes) : axes(axes) {
    int64_t left = llmmem_rank();
    std::vector<int64_t> position(sizes.size());
    for (size_t axis = sizes.size(); axis-- > 0; left /= sizes[axis])
      position[axis] = left % sizes[axis];
    for (int64_t rank = 0; rank < llmmem_ranks(); ++rank) {
      bool isMember = true;
      int64_t rest = rank;
      for (size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
        isMember &= (axes >> axis & 1) || rest % sizes[axis] == position[axis];
      if (!isMember)
        continue;
      if (rank == llmmem_rank())
        own = static_cast<int64_t>(members.size());
      members.push_back(rank);
    }
  }

  std::string check(int64_t count) {
    count_ = count;
    for (auto test : {&GroupCheck::allGather, &GroupCheck::allReduce, &GroupCheck::reduceScatter,
                      &GroupCheck::broadcast, &GroupCheck::reduce, &GroupCheck::allToAll,
                      &GroupCheck::sendReceive})
      if (std::string said = (this->*test)(); !said.empty())
        return said;
    return "";
  }

private:
  int64_t n() const { return static_cast<int64_t>(members.size()); }

  /// Element `i` of the rank's data. Sums of floats depend on their order: large and small values.
  static T valueOf(int64_t rank, int64_t i) {
    uint64_t mixed = (static_cast<uint64_t>(rank) * 1000003 + i + 1) * 0x9E3779B97F4A7C15;
    double small = static_cast<double>(mixed >> 40) / 65536 - 128;
    return make<T>(mixed >> 20 & 1 ? small : small * 1048576);
  }
  static std::vector<T> valuesOf(int64_t rank, int64_t count) {
    std::vector<T> values;
    values.reserve(count);
    for (int64_t i = 0; i < count; ++i)
      values.push_back(valueOf(rank, i));
    return values;
  }
  std::vector<T> mine(int64_t count) const { return valuesOf(members[own], count); }

  T sumOf(int64_t i) const {
    using Sum = typename Element<T>::Sum;
    Sum sum = static_cast<Sum>(valueOf(members[0], i));
    for (int64_t p = 1; p < n(); ++p)
      sum += static_cast<Sum>(valueOf(members[p], i));
    if constexpr (std::is_same_v<T, BFloat>)
      return BFloat::of(sum);
    else
      return static_cast<T>(sum);
  }
  std::vector<T> sums(int64_t begin, int64_t count) const {
    std::vector<T> all;
    for (int64_t i = begin; i < begin + count; ++i)
      all.push_back(sumOf(i));
    return all;
  }

  /// Returns a workspace with arbitrary contents, which must not matter.
  std::vector<T> workspace(int64_t count) const { return std::vector<T>(count, make<T>(-77)); }
  std::vector<T> workspaceOfSum() const { return workspace(n() * ((count_ + n() - 1) / n())); }

  std::string compare(const char *call, const std::vector<T> &found,
                      const std::vector<T> &expected) const {
    if (found.size() == expected.size() &&
        (found.empty() || // whose pointer may be null, which memcmp does not take
         std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)) == 0))
      return "";
    std::ostringstream said;
    said << "rank " << members[own] << ", position " << own << " of " << n() << ": " << call
         << " of " << count_ << " elements of type " << Element<T>::code << " over axes " << axes
         << " differs from its definition";
    return said.str();
  }

  std::string allGather() {
    std::vector<T> whole = workspace(n() * count_), expected, part = mine(count_);
    llmmem_all_gather(part.data(), whole.data(), count_, Element<T>::code, axes);
    for (int64_t rank : members)
      for (T value : valuesOf(rank, count_))
        expected.push_back(value);
    return compare("all_gather", whole, expected);
  }

  std::string allReduce() {
    std::vector<T> x = mine(count_), apart = workspace(count_), space = workspaceOfSum();
    llmmem_all_reduce(x.data(), apart.data(), space.data(), count_, Element<T>::code, axes);
    if (std::string said = compare("all_reduce", apart, sums(0, count_)); !said.empty())
      return said;
    space = workspaceOfSum();
    llmmem_all_reduce(x.data(), x.data(), space.data(), count_, Element<T>::code, axes);
    return compare("all_reduce in place", x, sums(0, count_));
  }

  std::string reduceScatter() {
    std::vector<T> whole = mine(n() * count_), part = workspace(count_);
    std::vector<T> space = workspace(n() * count_);
    llmmem_reduce_scatter(whole.data(), part.data(), space.data(), count_, Element<T>::code, axes);
    if (std::string said = compare("reduce_scatter", part, sums(own * count_, count_));
        !said.empty())
      return said;
    return compare("the operand of reduce_scatter", whole, mine(n() * count_));
  }

  std::string broadcast() {
    int64_t root = n() - 1;
    std::vector<T> x = mine(count_), y = workspace(count_);
    llmmem_broadcast(x.data(), y.data(), count_, Element<T>::code, axes, root);
    return compare("broadcast", y, valuesOf(members[root], count_));
  }

  std::string reduce() {
    int64_t root = n() / 2;
    std::vector<T> x = mine(count_), sum = workspace(count_), space = workspaceOfSum();
    llmmem_reduce(x.data(), sum.data(), space.data(), count_, Element<T>::code, axes, root);
    return compare("reduce", sum,
                   own == root ? sums(0, count_) : std::vector<T>(count_, make<T>(0)));
  }

  std::string allToAll() {
    std::vector<T> x = mine(n() * count_), y = workspace(n() * count_), expected;
    llmmem_all_to_all(x.data(), y.data(), count_, Element<T>::code, axes);
    for (int64_t rank : members)
      for (int64_t i = 0; i < count_; ++i)
        expected.push_back(valueOf(rank, own * count_ + i));
    return compare("all_to_all", y, expected);
  }

  std::string sendReceive() {
    for (int64_t shift : {1, -1, 2, 0})
      for (int64_t wraps : {0, 1}) {
        std::vector<T> x = mine(count_), y = workspace(count_);
        llmmem_send_receive(x.data(), y.data(), count_, Element<T>::code, axes, shift, wraps);
        int64_t from = own - shift;
        if (wraps)
          from = ((from % n()) + n()) % n();
        bool isThere = from >= 0 && from < n();
        std::vector<T> expected =
            isThere ? valuesOf(members[from], count_) : std::vector<T>(count_, make<T>(0));
        if (std::string said = compare("send_receive", y, expected); !said.empty())
          return said;
      }
    return "";
  }

  int64_t axes, own = 0, count_ = 0;
  std::vector<int64_t> members;
};

template <typename T>
std::string checkElement(const std::vector<int64_t> &sizes) {
  for (int64_t axes = 0; axes < 1 << sizes.size(); ++axes) {
    GroupCheck<T> group(sizes, axes);
    for (int64_t count : {0, 1, 2, 7, 12, 5000})
      if (std::string said = group.check(count); !said.empty())
        return said;
  }
  return "";
}

} // namespace

std::string checkCollectives(const std::vector<int64_t> &sizes) {
  for (auto check : {checkElement<float>, checkElement<double>, checkElement<BFloat>,
                     checkElement<_Float16>, checkElement<int32_t>})
    if (std::string said = check(sizes); !said.empty())
      return said;
  return "";
}

std::string checkTransport(const std::vector<int64_t> &sizes) { return checkElement<float>(sizes); }
