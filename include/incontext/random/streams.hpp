#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "incontext/core/host_device.hpp"

/// The table of all stream tags. Its numbers are part of the reproducibility contract: whoever changes one changes
/// every result. The library uses the numbers below 64, and adds multiples of 256 to them where a stream has several
/// parts; streams of your own start at 4096.
namespace incontext::random {

/// The streams of a regression trial.
///
/// Source    the contract: numbers never change.
/// Runs on   host and device
enum class RegressionStream : std::uint32_t {
  task = 0,
  query = 1,
  query_noise = 2,
  inputs = 3,
  noise = 4,
  input_mean = 5,
  direction = 6,
  wishart = 7,           ///< Bartlett's factor below its diagonal, or a chi-square alone
  wishart_diagonal = 8,  ///< the chi-squares of Bartlett's factor
  rows = 9
};

/// The streams of a trial with a row of scores.
///
/// Runs on   host and device
enum class RowStream : std::uint32_t { scores = 16, needle = 17 };

/// The streams of a trial with a layer's gradients.
///
/// Runs on   host and device
enum class GradientStream : std::uint32_t { tokens = 24, upstream = 25 };

/// The streams of the sequences of the papers' tasks.
///
/// Runs on   host and device
enum class TaskStream : std::uint32_t {
  quantifier = 40,
  affine_function = 41,
  affine_inputs = 42,
  reasoning = 43,
  needle_scores = 44,
  needle_place = 45,
  needle_score = 46
};

/// The streams of the recall task.
///
/// Runs on   host and device
enum class RecallStream : std::uint32_t { keys = 60, pairs = 61 };

/// The streams of training.
///
/// Runs on   host and device
enum class TrainingStream : std::uint32_t { initial_weights = 28, held_out = 29, batch = 30 };

/// The streams of averages over cells of the sphere.
///
/// Runs on   host and device
enum class CellStream : std::uint32_t { uniform = 48, about_query = 49 };

/// The streams of the sphere task.
///
/// Runs on   host and device
enum class SphereStream : std::uint32_t { prototypes = 56, label = 57, proposals = 58, wedges = 59 };

/// The streams of pools of pretraining tasks.
///
/// Runs on   host and device
enum class PoolStream : std::uint32_t { tasks = 12 };

/// The number of a stream, the last word of its counters. Every enum over std::uint32_t converts to it, so that a
/// stream of your own is an enumerator too.
///
///     enum class MyStream : std::uint32_t { scores = 4096, labels };
///
/// Runs on   host and device
class StreamTag {
 public:
  explicit constexpr INCONTEXT_HD StreamTag(std::uint32_t number) : number_(number) {}
  template <class Enum>
    requires(std::is_enum_v<Enum> && std::is_same_v<std::underlying_type_t<Enum>, std::uint32_t>)
  // NOLINTNEXTLINE: implicit, as an enumerator is a tag
  constexpr INCONTEXT_HD StreamTag(Enum stream) : number_(static_cast<std::uint32_t>(stream)) {}

  [[nodiscard]] constexpr INCONTEXT_HD std::uint32_t number() const { return number_; }

  /// Part k of a stream that needs more than 2^32 blocks: it has the number `number` + 256 k.
  [[nodiscard]] constexpr INCONTEXT_HD StreamTag part(std::uint32_t k) const { return StreamTag(number_ + (k << 8)); }

 private:
  std::uint32_t number_;
};

namespace detail {

/// Whether no two streams have a part in common, which is so if their numbers modulo 256 differ.
template <std::size_t size>
constexpr bool disjoint(const StreamTag (&streams)[size]) {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (streams[i].number() % 256 == streams[j].number() % 256) return false;
    }
    if (streams[i].number() >= 64) return false;
  }
  return true;
}

static_assert(disjoint({RegressionStream::task,      RegressionStream::query,   RegressionStream::query_noise,
                        RegressionStream::inputs,    RegressionStream::noise,   RegressionStream::input_mean,
                        RegressionStream::direction, RegressionStream::wishart, RegressionStream::wishart_diagonal,
                        RegressionStream::rows,      RowStream::scores,         RowStream::needle,
                        GradientStream::tokens,      GradientStream::upstream,  TrainingStream::initial_weights,
                        TrainingStream::held_out,    TrainingStream::batch,     TaskStream::quantifier,
                        TaskStream::affine_function, TaskStream::affine_inputs, TaskStream::reasoning,
                        TaskStream::needle_scores,   TaskStream::needle_place,  TaskStream::needle_score,
                        RecallStream::keys,          RecallStream::pairs,       CellStream::uniform,
                        CellStream::about_query,     SphereStream::prototypes,  SphereStream::label,
                        SphereStream::proposals,     SphereStream::wedges,      PoolStream::tasks}));

}  // namespace detail

}  // namespace incontext::random
