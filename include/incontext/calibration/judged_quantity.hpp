#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "incontext/statistics/agreement.hpp"
#include "incontext/statistics/effect.hpp"
#include "incontext/statistics/holm.hpp"

namespace incontext::calibration {

/// A predicted quantity beside its measurement, and the verdict with what it is worth.
///
/// Units     of the quantity; effect as statistics::Effect.
struct JudgedQuantity {
  std::string quantity;
  statistics::Agreement agreement;
  statistics::Verdict verdict;
  statistics::Effect effect;
  std::string conclusion;  ///< the verdict in words, as statistics::conclusion
};

/// The probability of a false alarm among quantities that are judged together, where all theories hold.
inline constexpr double judgment_level = 1e-3;

/// Judges quantities together by Holm's test at judgment_level. A quantity agrees only where the measurement could have
/// told: where its deviation is known to within statistics::coarsest_resolution.
///
/// `rows` is what there are too few of where it could not: rows, or prompts.
///
/// Source    statistics::verdicts and statistics::resolved_verdict; an effect is judged at the level over m.
/// Shapes    m quantities -> m judged quantities in the same order
/// Accuracy  as statistics::verdicts and statistics::effect_of.
inline std::vector<JudgedQuantity> judged_together(
    const std::vector<std::pair<std::string, statistics::Agreement>>& quantities, const std::string& rows = "rows") {
  std::vector<statistics::Agreement> family;
  family.reserve(quantities.size());
  for (const auto& [name, agreement] : quantities) family.push_back(agreement);
  const auto verdicts = statistics::verdicts(family, judgment_level);
  std::vector<JudgedQuantity> judged;
  judged.reserve(quantities.size());
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    const auto& [name, agreement] = quantities[i];
    const auto effect = statistics::effect_of(agreement, judgment_level / static_cast<double>(quantities.size()));
    const bool rejected = verdicts[i] == statistics::Verdict::disagrees;
    const auto verdict = statistics::resolved_verdict(agreement, effect, rejected);
    judged.push_back({name, agreement, verdict, effect, statistics::conclusion(agreement, effect, verdict, rows)});
  }
  return judged;
}

}  // namespace incontext::calibration
