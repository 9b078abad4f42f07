#pragma once

// Compiled into every source of a mutated tree. A place in a formula is marked by one of the operands below, which
// change it in the process whose environment names the place in INCONTEXT_MUTANT, and nothing in any other.

#if __cplusplus >= 202002L  // not where CMake tries the compiler

#include <cstdlib>
#include <type_traits>

namespace incontext_mutant {

inline const int active = [] {
  const char* const text = std::getenv("INCONTEXT_MUTANT");
  return text == nullptr ? 0 : std::atoi(text);
}();

/// None of these is constexpr: a compiler would compute an operand of constants ahead of the program, unchanged.
inline bool is_active(int place) { return place == active; }

/// The value of an expression template of Eigen or Boost.Multiprecision; other values as they are.
template <class X>
auto value_of(const X& x) {
  if constexpr (requires { typename X::PlainObject; }) {
    return typename X::PlainObject(x);
  } else if constexpr (requires { typename X::result_type; }) {
    return typename X::result_type(x);
  } else {
    return x;
  }
}

/// Turns the sign of the factor that follows.
struct sign {
  int place;
  template <class X>
  friend auto operator*(sign s, const X& x) {
    const auto value = value_of(x);
    using Value = std::remove_const_t<decltype(value)>;
    return is_active(s.place) ? Value(value - value - value) : Value(value);  // Lanes have no unary minus
  }
};

/// Drops the term that begins with the factor that follows.
struct drop {
  int place;
  template <class X>
  friend auto operator*(drop d, const X& x) {
    const auto value = value_of(x);
    using Value = std::remove_const_t<decltype(value)>;
    return is_active(d.place) ? Value(value - value) : Value(value);
  }
};

/// One number in place of another.
template <class X>
X number(int place, X right, X wrong) {
  return is_active(place) ? wrong : right;
}

}  // namespace incontext_mutant

#endif
