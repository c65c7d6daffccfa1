//===- Count.h - Numbers of bytes, elements and FLOPs that cannot wrap ------===//
//
// A product or sum of sizes that passes 2^63 - 1 must not look like a small number. A Count becomes
// `tooMany` there, and so does every product, sum and quotient that it goes into. As an int64_t
// `tooMany` is -1, which no size is, because code that reads sizes from files refuses negative
// ones.
//
// Example: Count(1) * (int64_t(1) << 62) * 2 is tooMany, and so is that / 4. Any count * 0 is 0 but
// for tooMany * 0, whose first factor is known to be wrong.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_SUPPORT_COUNT_H
#define LLMMEM_SUPPORT_COUNT_H

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace llmmem {

class Count {
public:
  static constexpr int64_t tooMany = -1;

  constexpr Count(int64_t number = 0) : number(number < 0 ? tooMany : number) {}

  constexpr bool isTooMany() const { return number == tooMany; }
  constexpr operator int64_t() const { return number; }

  friend constexpr Count operator*(Count a, Count b) {
    int64_t product;
    return isKnown(a, b) && !__builtin_mul_overflow(a.number, b.number, &product) ? product
                                                                                  : tooMany;
  }
  friend constexpr Count operator+(Count a, Count b) {
    int64_t sum;
    return isKnown(a, b) && !__builtin_add_overflow(a.number, b.number, &sum) ? sum : tooMany;
  }
  /// Rounds down; `b` is positive.
  friend constexpr Count operator/(Count a, Count b) {
    return isKnown(a, b) ? a.number / b.number : tooMany;
  }
  friend constexpr Count operator%(Count a, Count b) {
    return isKnown(a, b) ? a.number % b.number : tooMany;
  }
  friend constexpr Count divideCeil(Count a, Count b) {
    return isKnown(a, b) ? a.number / b.number + (a.number % b.number != 0) : tooMany;
  }
  friend constexpr Count alignTo(Count a, Count alignment) {
    return divideCeil(a, alignment) * alignment;
  }
  friend constexpr Count larger(Count a, Count b) {
    return isKnown(a, b) ? std::max(a.number, b.number) : tooMany;
  }
  friend constexpr Count smaller(Count a, Count b) {
    return isKnown(a, b) ? std::min(a.number, b.number) : tooMany;
  }

  // These take a plain number and a Count: the conversions above would be ambiguous.
  template <std::integral Number>
  friend constexpr Count operator*(Number a, Count b) {
    return Count(a) * b;
  }
  template <std::integral Number>
  friend constexpr Count operator*(Count a, Number b) {
    return a * Count(b);
  }
  template <std::integral Number>
  friend constexpr Count operator+(Number a, Count b) {
    return Count(a) + b;
  }
  template <std::integral Number>
  friend constexpr Count operator+(Count a, Number b) {
    return a + Count(b);
  }
  template <std::integral Number>
  friend constexpr Count operator/(Count a, Number b) {
    return a / Count(b);
  }
  template <std::integral Number>
  friend constexpr Count operator%(Count a, Number b) {
    return a % Count(b);
  }
  // A difference may be negative, and that of tooMany is not known.
  template <typename Other>
  friend Count operator-(Count, Other) = delete;

  constexpr Count &operator+=(Count other) { return *this = *this + other; }
  constexpr Count &operator*=(Count other) { return *this = *this * other; }

private:
  static constexpr bool isKnown(Count a, Count b) { return !a.isTooMany() && !b.isTooMany(); }

  int64_t number;
};

} // namespace llmmem

#endif // LLMMEM_SUPPORT_COUNT_H
