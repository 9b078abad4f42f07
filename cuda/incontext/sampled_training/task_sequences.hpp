#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/sampled_training/sequence_training.hpp"
#include "incontext/simulate/rows/task_streams.hpp"

/// The tasks of arXiv 2508.14685 as sequences to train on. One token holds what the paper spreads over three tokens:
/// the previous pair and the question. The recall task stands for the retrieval of arXiv 2501.19399.
namespace incontext::training {

/// The features of a token of the affine task: x_t, the previous pair, and whether there is one.
enum AffineFeature { affine_input, previous_input, previous_label, has_previous, affine_features };

/// Sequences of the affine task: token t asks for y_t and shows (x_(t-1), y_(t-1)), so that attention to the tokens up
/// to t reads every pair before t. The loss is the mean over t.
///
/// Source    arXiv 2508.14685, eq. 1, where x and y are tokens of their own.
/// Shapes    AffineFeature::affine_features features, one output.
/// Units     of the labels.
/// Accuracy  the draws are those of simulate::AffineSequences: tests/sampled_training/sequence_training.cpp.
/// Random    as simulate::AffineSequences.
template <class T>
SequenceStream<T> affine_sequences(const simulate::AffineSequences<T>& task, std::int64_t training_length) {
  return {.loss = training::SequenceLoss::squared_error,
          .length = [training_length](std::int64_t) { return training_length; },
          .draw =
              [task](std::uint64_t index, std::int64_t length, training::SequenceExamples<T>& examples,
                     Eigen::Index first) {
                std::vector<T> inputs(static_cast<std::size_t>(length)), labels(inputs.size());
                task.draw(index, length, inputs.data(), labels.data());
                for (std::int64_t t = 0; t < length; ++t) {
                  auto token = examples.features.col(first + t);
                  token[affine_input] = inputs[static_cast<std::size_t>(t)];
                  examples.targets(0, first + t) = labels[static_cast<std::size_t>(t)];
                  examples.weights[first + t] = T(1) / static_cast<T>(length);
                  if (t == 0) continue;
                  token[previous_input] = inputs[static_cast<std::size_t>(t - 1)];
                  token[previous_label] = labels[static_cast<std::size_t>(t - 1)];
                  token[has_previous] = T(1);
                }
              }};
}

namespace detail {

/// Gives all numbers one sign; in sequences of odd index, one number at a random place then gets the other sign.
template <class T>
void leave_one_exception(std::uint64_t seed, std::uint64_t index, int sign, std::vector<T>& inputs) {
  std::uint32_t words[4];
  random::philox(seed, {index, 0, random::StreamTag(random::TaskStream::quantifier).part(1).number()}, words);
  const std::size_t place = std::size_t{words[0]} * inputs.size() >> 32;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const T size = inputs[i] < T(0) ? T(-inputs[i]) : inputs[i];
    inputs[i] = (sign > 0) == (index % 2 == 1 && i == place) ? T(-size) : size;
  }
}

}  // namespace detail

/// Which statement about the numbers up to a token is to be judged.
enum class Quantifier { every, some };

/// The features of a token of the quantifier task: x_t and a constant.
enum QuantifierFeature { quantifier_input, constant_feature, quantifier_features };

/// The numbers of the quantifier task. With independent signs, as in the paper, nearly all long sequences have the same
/// answer: all of i numbers are positive with probability 2^-i. With one exception, all numbers are positive ("every")
/// or negative ("some"), but every sequence of odd index has one number of the other sign at a random place. So half of
/// the last answers are yes at any length.
enum class QuantifierNumbers { independent, one_exception };

/// Sequences of the quantifier task: token t shows x_t and asks whether all, or any, of x_1 ... x_t are positive. Class
/// 1 is yes. The loss is the mean over t. Earlier answers are not shown: the answer would follow from the last of them
/// and x_t.
///
/// Source    arXiv 2508.14685, Sec. 3, where earlier answers are in the prompt.
/// Shapes    QuantifierFeature::quantifier_features features, two outputs.
/// Units     nats.
/// Accuracy  the draws are those of simulate::QuantifierSequences: tests/sampled_training/sequence_training.cpp.
/// Random    as simulate::QuantifierSequences; the exception's place has part 1 of its stream.
template <class T>
SequenceStream<T> quantifier_sequences(const simulate::QuantifierSequences<T>& task, Quantifier quantifier,
                                       QuantifierNumbers numbers, std::int64_t training_length) {
  return {
      .loss = training::SequenceLoss::cross_entropy,
      .length = [training_length](std::int64_t) { return training_length; },
      .draw =
          [=](std::uint64_t index, std::int64_t length, training::SequenceExamples<T>& examples, Eigen::Index first) {
            std::vector<T> inputs(static_cast<std::size_t>(length));
            std::vector<int> every(inputs.size()), some(inputs.size());
            task.draw(index, length, inputs.data(), every.data(), some.data());
            if (numbers == QuantifierNumbers::one_exception) {
              detail::leave_one_exception(task.seed, index, quantifier == Quantifier::every ? 1 : -1, inputs);
            }
            bool all = true, any = false;
            for (std::int64_t t = 0; t < length; ++t) {
              const T input = inputs[static_cast<std::size_t>(t)];
              all = all && T(0) < input;
              any = any || T(0) < input;
              examples.features(quantifier_input, first + t) = input;
              examples.features(constant_feature, first + t) = T(1);
              examples.targets((quantifier == Quantifier::every ? all : any) ? 1 : 0, first + t) = T(1);
              examples.weights[first + t] = T(1) / static_cast<T>(length);
            }
          }};
}

/// The dimension of a key in the recall task.
inline constexpr int recall_key_size = 8;

/// The number of different values in the recall task.
inline constexpr int recall_values = 8;

/// The features of a token of the recall task: the key and the value of its pair, and the key that it asks for.
enum RecallFeature {
  recall_key,
  recall_value = recall_key + recall_key_size,
  recall_question = recall_value + recall_values,
  recall_features = recall_question + recall_key_size
};

/// Sequences of the recall task: token t shows a pair of a key and a value, and asks for the value of one of the pairs
/// up to it, which it names by the key. Keys are uniform on the sphere of radius sqrt(8), so that no key occurs twice;
/// values are uniform classes, shown as one-hot vectors; the pair that is asked for is uniform on the first t. The loss
/// is the mean over t.
///
/// One token shows a whole pair, so that one layer can answer: the score is the product of question and key, which is
/// largest for the same key. No token has to be found by the one before it.
///
///     const auto stream = training::recall_sequences<float>(/*seed=*/3, /*training_length=*/64);
///
/// Source    derived: docs/theory/training.md#recall-task; in the place of the sentences that are retrieved in arXiv
///           2501.19399, Figs. 6 to 8.
/// Shapes    RecallFeature::recall_features features, recall_values outputs.
/// Units     nats.
/// Domain    1 <= training_length; lengths <= 4e8. Places by Lemire's product: probabilities are off by at most 2^-32.
/// Errors    std::invalid_argument for training_length outside the domain.
/// Accuracy  tests/sampled_training/sequence_training.cpp.
/// Random    streams random::RecallStream: key t has the normals 8 t to 8 t + 7, value and asked pair of token t are
///           counter t.
template <class T>
SequenceStream<T> recall_sequences(std::uint64_t seed, std::int64_t training_length) {
  require_at_least("training::recall_sequences", "training_length", training_length, std::int64_t{1});
  return {
      .loss = training::SequenceLoss::cross_entropy,
      .length = [training_length](std::int64_t) { return training_length; },
      .draw =
          [=](std::uint64_t index, std::int64_t length, training::SequenceExamples<T>& examples, Eigen::Index first) {
            constexpr int per_block = random::normals_per_block<T>;
            const random::LaneStream<1> lanes({seed, index}, random::StreamTag(random::RecallStream::keys));
            numerics::Matrix<T> keys(recall_key_size, length);
            for (Eigen::Index block = 0; block * per_block < keys.size(); ++block) {
              Lanes<T, 1> normal[per_block];
              random::normals(lanes, static_cast<std::uint32_t>(block), normal);
              for (int i = 0; i < per_block; ++i) keys(block * per_block + i) = normal[i][0];
            }
            keys.colwise().normalize();
            keys *= std::sqrt(static_cast<T>(recall_key_size));
            std::vector<int> values(static_cast<std::size_t>(length));
            for (std::int64_t t = 0; t < length; ++t) {
              std::uint32_t words[4];
              random::philox(
                  seed, {index, static_cast<std::uint32_t>(t), random::StreamTag(random::RecallStream::pairs).number()},
                  words);
              const auto asked = static_cast<std::int64_t>(words[0] * static_cast<std::uint64_t>(t + 1) >> 32);
              values[static_cast<std::size_t>(t)] = static_cast<int>(words[1] % recall_values);
              auto token = examples.features.col(first + t);
              token.segment(recall_key, recall_key_size) = keys.col(t);
              token[recall_value + values[static_cast<std::size_t>(t)]] = T(1);
              token.segment(recall_question, recall_key_size) = keys.col(asked);
              examples.targets(values[static_cast<std::size_t>(asked)], first + t) = T(1);
              examples.weights[first + t] = T(1) / static_cast<T>(length);
            }
          }};
}

}  // namespace incontext::training
