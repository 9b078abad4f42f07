#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/families.hpp"

namespace incontext::calibration {

/// A predicted quantity beside its measurement, and the verdict.
///
/// Units     of the quantity.
struct JudgedQuantity {
  std::string quantity;
  statistics::Agreement agreement;
  statistics::Verdict verdict;
};

/// Judges quantities together by Holm's test: a false alarm among them, where all theories hold, in one of 1000 cases.
///
/// Source    statistics::verdicts.
/// Shapes    m quantities -> m judged quantities in the same order
/// Accuracy  as statistics::verdicts.
inline std::vector<JudgedQuantity> judged_together(std::vector<std::pair<std::string, statistics::Agreement>> rows) {
  std::vector<statistics::Agreement> family;
  family.reserve(rows.size());
  for (const auto& [name, agreement] : rows) family.push_back(agreement);
  const auto verdicts = statistics::verdicts(family, 1e-3);
  std::vector<JudgedQuantity> judged;
  judged.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) judged.push_back({rows[i].first, rows[i].second, verdicts[i]});
  return judged;
}

}  // namespace incontext::calibration
