#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "examples/verify/evidence.hpp"

/// Questions about orders, trends and numbers, as comparisons of simulated or computed values.
namespace incontext::examples::verify {

/// A difference that is positive where the answer is yes.
struct Comparison {
  double difference = 0;
  /// A bound of its standard error: the sum of the values' own, whatever draws they share. 0: computed numbers.
  double error = 0;
  std::int64_t values = 0;  ///< whose scatter gives the error, the fewest of both sides
  bool needed = true;       ///< the answer is yes only if it is positive beyond chance; else if it is not negative so
};

struct Answer {
  std::vector<std::size_t> rows = {};  ///< that were asked, in the order of `along`
  std::vector<Comparison> comparisons = {};
  bool alone = false;        ///< a value was drawn and has no error, so that one seed alone says nothing
  std::string text = {};     ///< the numbers, for a reader
  std::string missing = {};  ///< why nothing can be asked; empty if it can
};

/// Asks rows a question other than whether they agree.
Answer ask(const RowGroup& group, const std::vector<Row>& rows);

}  // namespace incontext::examples::verify
