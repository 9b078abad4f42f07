#pragma once

#include <cmath>
#include <cstdint>

#include "core.hpp"

/// Closed forms of a context length, which may be an array.
namespace incontext::python {

/// Evaluates a function of a context length at each of an array's.
template <class Function>
Broadcast at_lengths(const Axis& context_length, const Function& function) {
  using R = decltype(function(std::int64_t{}));
  return {evaluate(result_of<R>(), {context_length.values}, [&](const double* in, double* out) {
    if (in[0] != std::floor(in[0])) {
      throw_invalid_argument("regression", "context_length is not whole", in[0], "an integer");
    }
    write_numbers(function(static_cast<std::int64_t>(in[0])), out);
  })};
}

}  // namespace incontext::python
