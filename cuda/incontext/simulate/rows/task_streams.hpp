#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/rows/score_rows_trial.hpp"

/// The tasks of the papers as streams: the item of an index is a pure function of seed and index, and serves as the
/// trial of a simulator or as one item of a training batch. A longer sequence begins with the shorter one.
namespace incontext::simulate {

using random::TaskStream;

// The numbers of one item of a task, from its stream.
namespace detail {

/// The first `count` standard normals of one stream.
template <class T>
INCONTEXT_HD void draw_normals(std::uint64_t seed, std::uint64_t index, random::TaskStream stream, std::int64_t count,
                               T* out) {
  constexpr int per_block = random::normals_per_block<T>;
  const random::LaneStream<1> lanes({seed, index}, stream);
  for (std::int64_t first = 0; first < count; first += per_block) {
    Lanes<T, 1> normal[per_block];
    random::normals(lanes, static_cast<std::uint32_t>(first / per_block), normal);
    for (int k = 0; k < per_block && first + k < count; ++k) out[first + k] = normal[k][0];
  }
}

/// The first `count` numbers of one stream, uniform on (0, 1).
template <class T>
INCONTEXT_HD void draw_uniforms(std::uint64_t seed, std::uint64_t index, random::TaskStream stream, std::int64_t count,
                                T* out) {
  constexpr int per_block = random::normals_per_block<T>;
  for (std::int64_t first = 0; first < count; first += per_block) {
    std::uint32_t words[4];
    random::philox(seed, {index, static_cast<std::uint32_t>(first / per_block), random::StreamTag(stream).number()},
                   words);
    for (int k = 0; k < per_block && first + k < count; ++k) {
      if constexpr (sizeof(T) == 4) {
        out[first + k] = random::uniform_open(words[k]);
      } else {
        out[first + k] = random::uniform_open(words[2 * k], words[2 * k + 1]);
      }
    }
  }
}

}  // namespace detail

/// Sequences of the quantifier task: normal inputs, and for every prefix whether all or any of it are positive.
///
/// Source    arXiv 2508.14685, Sec. 3; training::quantifier_task has the probabilities.
/// Shapes    inputs, every, some: length numbers each; labels are 1 and -1.
/// Units     input_stddev of the inputs.
/// Domain    length <= 4e9, input_stddev > 0.
/// Accuracy  probabilities against training::quantifier_task by z: tests/simulate/rows/task_streams.cpp.
/// Random    stream quantifier; input i is normal i.
/// Runs on   host and device
template <class T>
struct QuantifierSequences {
  std::uint64_t seed;
  T input_stddev = T(1);

  INCONTEXT_HD void draw(std::uint64_t index, std::int64_t length, T* inputs, int* every, int* some) const {
    detail::draw_normals(seed, index, TaskStream::quantifier, length, inputs);
    int all = 1, any = -1;
    for (std::int64_t i = 0; i < length; ++i) {
      const bool positive = T(0) < inputs[i];
      inputs[i] *= input_stddev;
      every[i] = all = positive ? all : -1;
      some[i] = any = positive ? 1 : any;
    }
  }
};

/// Sequences of the affine task y = a x + b. The first input may have its own standard deviation and is then the
/// deviant token.
///
/// Source    arXiv 2508.14685, Sec. 3 and Table 3; training::affine_risks has the errors.
/// Shapes    inputs, labels: length numbers each.
/// Units     input_stddev and first_input_stddev of x; function_stddev of a and b, a label's units.
/// Domain    length <= 4e9, standard deviations >= 0.
/// Accuracy  errors against training::affine_risks by z: tests/simulate/rows/task_streams.cpp.
/// Random    streams affine_function (normals 0, 1: a, b) and affine_inputs (input i is normal i).
/// Runs on   host and device
template <class T>
struct AffineSequences {
  std::uint64_t seed;
  T input_stddev = T(1);
  T function_stddev = T(1);
  T first_input_stddev = input_stddev;

  INCONTEXT_HD void draw(std::uint64_t index, std::int64_t length, T* inputs, T* labels) const {
    T function[2];
    detail::draw_normals(seed, index, TaskStream::affine_function, 2, function);
    detail::draw_normals(seed, index, TaskStream::affine_inputs, length, inputs);
    for (std::int64_t i = 0; i < length; ++i) {
      inputs[i] *= i == 0 ? first_input_stddev : input_stddev;
      labels[i] = function_stddev * (function[0] * inputs[i] + function[1]);
    }
  }
};

/// One input of the reasoning task and its answer: c if a and b differ in parity, else d.
///
/// Runs on   host and device
struct ReasoningInput {
  std::int64_t a, b, c, d, answer;
};

/// Inputs of the reasoning task, each of a, b, c, d uniform on {0 ... largest_value}.
///
/// Source    arXiv 2310.12956, Sec. 4; training::reasoning_task has the probabilities. Integers by Lemire's product:
///           the probability of a value is off by at most 2^-32.
/// Domain    0 <= largest_value < 2^32 - 1.
/// Accuracy  probabilities against training::reasoning_task by z: tests/simulate/rows/task_streams.cpp.
/// Random    stream reasoning, one counter.
/// Runs on   host and device
struct ReasoningInputs {
  std::uint64_t seed;
  std::int64_t largest_value = 10;

  INCONTEXT_HD ReasoningInput draw(std::uint64_t index) const {
    std::uint32_t words[4];
    random::philox(seed, {index, 0, random::StreamTag(TaskStream::reasoning).number()}, words);
    std::int64_t values[4];
    for (int i = 0; i < 4; ++i) {
      values[i] = static_cast<std::int64_t>(words[i] * static_cast<std::uint64_t>(largest_value + 1) >> 32);
    }
    const bool differ = (values[0] + values[1]) % 2 == 1;
    return {values[0], values[1], values[2], values[3], differ ? values[2] : values[3]};
  }
};

/// Rows of scores with a needle at a random place, in which a map should find it.
///
/// Competitors are location + scale g with g normal, uniform on (0, 1) or k / (n - 2), k = 0 ... n - 2, in this order;
/// scale = 0 makes them equal. Uniform scores and the grid are bounded, normal ones are not.
///
///     const simulate::NeedleRows<double> needles{.seed = 1, .needle = 4.5};
///     const std::int64_t place = needles.draw(/*index=*/0, tokens, row.data());
///
/// Source    arXiv 2501.19399, Figs. 1 and 3; laws::uniform_needle_weight, grid_weight, two_level_weights and
///           needle_weight have the needle's weight.
/// Shapes    scores: length numbers. Returns the needle's place, 0 ... length - 1.
/// Units     of the scores.
/// Domain    2 <= length <= 4e9, scale >= 0. Places by Lemire's product, as ReasoningInputs.
/// Accuracy  weights against the laws by z: tests/simulate/rows/task_streams.cpp.
/// Random    streams needle_scores (competitor j is number j, counter j / normals_per_block) and needle_place.
/// Runs on   host and device
template <class T>
struct NeedleRows {
  std::uint64_t seed;
  ScoreLaw law = ScoreLaw::normal;
  T location = T(0);
  T scale = T(1);
  T needle = T(0);

  INCONTEXT_HD std::int64_t draw(std::uint64_t index, std::int64_t length, T* scores) const {
    const std::int64_t competitors = length - 1;
    if (law == ScoreLaw::normal) {
      detail::draw_normals(seed, index, TaskStream::needle_scores, competitors, scores);
    } else if (law == ScoreLaw::uniform) {
      detail::draw_uniforms(seed, index, TaskStream::needle_scores, competitors, scores);
    } else {
      const double share = competitors > 1 ? 1.0 / static_cast<double>(competitors - 1) : 0.0;
      for (std::int64_t j = 0; j < competitors; ++j) scores[j] = static_cast<T>(static_cast<double>(j) * share);
    }
    for (std::int64_t j = 0; j < competitors; ++j) scores[j] = location + scale * scores[j];
    std::uint32_t words[4];
    random::philox(seed, {index, 0, random::StreamTag(TaskStream::needle_place).number()}, words);
    const auto place = static_cast<std::int64_t>(words[0] * static_cast<std::uint64_t>(length) >> 32);
    scores[competitors] = scores[place];
    scores[place] = needle;
    return place;
  }
};

}  // namespace incontext::simulate
