#include "incontext/sampled_training/sequence_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/sampled_training/task_sequences.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/training/affine_task.hpp"
#include "incontext/training/checkpoint.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing::sequence_training_test {

using namespace training;
using namespace scoring::parameter;
using training::LearnedMap;
using training::SequenceShape;

constexpr SequenceShape small_shape{.features = affine_features, .outputs = 1, .width = 8, .heads = 2, .hidden = 16};

template <class T>
using Learned = LearnedMap<scoring::SSA<T>, Base, Exponent>;

template <class T>
SequenceTraining<Learned<T>> affine_training(SequenceShape shape, const SequenceBatches& batches, int length = 12) {
  return {training::SequenceTransformer<Learned<T>>(shape, Learned<T>{{T(1), T(1.5), T(2)}}),
          affine_sequences<T>({.seed = 40 + batches.seed}, length), batches};
}

TEST_CASE("tokens of the affine task show the pair before, and ask for the label of their own input", "[training]") {
  const simulate::AffineSequences<double> task{.seed = 4, .first_input_stddev = 30};
  std::vector<double> x(7), y(7);
  task.draw(11, 7, x.data(), y.data());
  training::SequenceExamples<double> examples;
  examples.resize({.features = affine_features}, 2, 7);
  const auto stream = affine_sequences<double>(task, 40);
  CHECK(stream.length(5) == 40);
  stream.draw(11, 7, examples, 7);
  CHECK(examples.features.leftCols(7).isZero());
  for (int t = 0; t < 7; ++t) {
    const auto token = examples.features.col(7 + t);
    CHECK(token[affine_input] == x[static_cast<std::size_t>(t)]);
    CHECK(examples.targets(0, 7 + t) == y[static_cast<std::size_t>(t)]);
    CHECK(examples.weights[7 + t] == 1.0 / 7);
    CHECK(token[has_previous] == (t > 0 ? 1 : 0));
    CHECK(token[previous_input] == (t > 0 ? x[static_cast<std::size_t>(t - 1)] : 0));
    CHECK(token[previous_label] == (t > 0 ? y[static_cast<std::size_t>(t - 1)] : 0));
  }
}

TEST_CASE("tokens of the quantifier task ask about the numbers up to them; an exception decides half", "[training]") {
  const simulate::QuantifierSequences<double> task{.seed = 4, .input_stddev = 3};
  std::vector<double> x(9);
  std::vector<int> every(9), some(9);
  for (const auto quantifier : {Quantifier::every, Quantifier::some}) {
    int yes = 0;
    for (std::uint64_t index = 0; index < 40; ++index) {
      training::SequenceExamples<double> examples;
      examples.resize({.features = quantifier_features, .outputs = 2}, 1, 9);
      quantifier_sequences<double>(task, quantifier, QuantifierNumbers::independent, 9).draw(index, 9, examples, 0);
      task.draw(index, 9, x.data(), every.data(), some.data());
      for (int t = 0; t < 9; ++t) {
        const auto i = static_cast<std::size_t>(t);
        REQUIRE(examples.features(quantifier_input, t) == x[i]);
        REQUIRE(examples.targets(1, t) == ((quantifier == Quantifier::every ? every : some)[i] > 0 ? 1 : 0));
        REQUIRE(examples.targets(0, t) + examples.targets(1, t) == 1);
      }
      examples.resize({.features = quantifier_features, .outputs = 2}, 1, 9);
      quantifier_sequences<double>(task, quantifier, QuantifierNumbers::one_exception, 9).draw(index, 9, examples, 0);
      const double sign = quantifier == Quantifier::every ? 1 : -1;
      int exceptions = 0;
      for (int t = 0; t < 9; ++t) {
        const double own = examples.features(quantifier_input, t);
        REQUIRE(std::abs(own) == std::abs(x[static_cast<std::size_t>(t)]));
        exceptions += own * sign < 0 ? 1 : 0;
        const bool is_yes = quantifier == Quantifier::every ? exceptions == 0 : exceptions > 0;
        REQUIRE(examples.targets(1, t) == (is_yes ? 1 : 0));
      }
      REQUIRE(exceptions == static_cast<int>(index % 2));
      yes += examples.targets(1, 8) > 0 ? 1 : 0;
    }
    CHECK(yes == 20);
  }
}

TEST_CASE("tokens of the recall task show a pair and ask for an earlier one by its key, which occurs once",
          "[training]") {
  constexpr int length = 12, sequences = 4000;
  const auto stream = recall_sequences<double>(5, 64);
  CHECK(stream.length(7) == 64);
  std::vector<double> places(length), values(recall_values);
  double moments = 0;
  for (std::uint64_t index = 0; index < sequences; ++index) {
    training::SequenceExamples<double> examples;
    examples.resize({.features = recall_features, .outputs = recall_values}, 1, length);
    stream.draw(index, length, examples, 0);
    const auto keys = examples.features.middleRows(recall_key, recall_key_size);
    const auto shown = examples.features.middleRows(recall_value, recall_values);
    for (int t = 0; t < length; ++t) {
      const auto question = examples.features.col(t).segment(recall_question, recall_key_size);
      std::vector<int> found;
      for (int j = 0; j < length; ++j) {
        if (keys.col(j) == question) found.push_back(j);
      }
      REQUIRE(found.size() == 1);
      REQUIRE(found[0] <= t);
      REQUIRE(examples.targets.col(t) == shown.col(found[0]));
      REQUIRE(shown.col(t).sum() == 1);
      REQUIRE(shown.col(t).maxCoeff() == 1);
      REQUIRE(std::abs(keys.col(t).squaredNorm() - recall_key_size) < 1e-12);
      REQUIRE(examples.weights[t] == 1.0 / length);
      if (t == length - 1) places[static_cast<std::size_t>(found[0])] += 1;
    }
    for (int v = 0; v < recall_values; ++v) values[static_cast<std::size_t>(v)] += shown(v, 3);
    moments += keys.col(2).dot(keys.col(5)) * keys.col(2).dot(keys.col(5)) / sequences;
  }
  const auto uniform = [](const std::vector<double>& counts) {
    double chi_squared = 0;
    const double expected = sequences / static_cast<double>(counts.size());
    for (const double count : counts) chi_squared += (count - expected) * (count - expected) / expected;
    const auto degrees = static_cast<double>(counts.size() - 1);
    return std::abs(chi_squared - degrees) < 5 * std::sqrt(2 * degrees);
  };
  CHECK(uniform(places));
  CHECK(uniform(values));
  places[0] += sequences / 10.0;
  CHECK_FALSE(uniform(places));
  CHECK(std::abs(moments - recall_key_size) < 5 * 0.15);  // their squared product is 8 on average, ± 0.15
}

TEST_CASE("sequences of the recall task differ by index and seed, and a longer one begins with the shorter one",
          "[training]") {
  const auto drawn = [](std::uint64_t seed, std::uint64_t index, int length) {
    training::SequenceExamples<float> examples;
    examples.resize({.features = recall_features, .outputs = recall_values}, 2, length);
    recall_sequences<float>(seed, 64).draw(index, length, examples, length);
    CHECK(examples.features.leftCols(length).isZero());
    return training::Matrix<float>(examples.features.rightCols(length));
  };
  CHECK(drawn(1, 2, 30).leftCols(10) == drawn(1, 2, 10));
  CHECK(drawn(1, 2, 10) != drawn(1, 3, 10));
  CHECK(drawn(1, 2, 10) != drawn(2, 2, 10));
  CHECK(refuses<std::invalid_argument>([] { (void)recall_sequences<float>(1, 0); }, {"training_length", "0"}));
}

TEST_CASE("a batch has the gradient of its sequences, each used once", "[training]") {
  const auto training = affine_training<double>(small_shape, {.seed = 3, .batch = 20});
  const auto parameters = training.initial();
  training::SequenceExamples<double> all;
  all.resize(training.model().layout().shape(), 20, 12);
  for (std::uint64_t i = 0; i < 20; ++i) {
    affine_sequences<double>({.seed = 43}, 12).draw(60 + i, 12, all, static_cast<Eigen::Index>(i) * 12);
  }
  const auto batch = training.gradient()(parameters, 3);
  const auto expected =
      training.model().gradient(std::span<const double>(parameters), training::SequenceLoss::squared_error, all);
  CHECK(std::abs(batch.loss - expected.loss) <= 1e-13);
  CHECK(std::abs(batch.loss_standard_error - expected.loss_standard_error) <= 1e-13);
  double apart = 0, largest = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    apart = std::max(apart, std::abs(batch.gradient[i] - expected.gradient[i]));
    largest = std::max(largest, std::abs(expected.gradient[i]));
  }
  CHECK(apart <= 1e-13 * largest);
  CHECK(training.gradient()(parameters, 4).loss != batch.loss);
}

TEST_CASE("initial weights have the scale of their fan-in, gains are 1, the rest is 0", "[training]") {
  const auto training =
      affine_training<float>({.features = affine_features, .width = 64, .heads = 4, .hidden = 128}, {.seed = 3});
  const auto& layout = training.model().layout();
  const auto parameters = training.initial(2);
  const auto part = [&](training::TransformerPart which) { return layout.part(parameters.data(), which); };
  const auto stddev = [&](training::TransformerPart which) {
    return std::sqrt(part(which).squaredNorm() / static_cast<double>(part(which).size()));
  };
  CHECK(std::abs(stddev(training::TransformerPart::query) - 2.0 / 8) < 0.02);
  CHECK(std::abs(stddev(training::TransformerPart::mlp_out) - 2 / std::sqrt(128.0)) < 0.02);
  CHECK(part(training::TransformerPart::final_norm_gain).isOnes());
  CHECK(part(training::TransformerPart::mlp_in_bias).isZero());
  CHECK(part(training::TransformerPart::map).isZero());
}

TEST_CASE("threads and interruptions do not change a bit of a run on sequences", "[training]") {
  const auto run = [&](simulate::Device device, int threads, int pause) {
    SequenceShape shape = small_shape;
    shape.layers = 2;
    const auto training =
        affine_training<float>(shape, {.seed = 6, .batch = 37, .device = device, .threads = threads}, 9);
    const training::TrainerOptions options{.adam = {.weight_decay = 0.1}, .rate = {.peak = 0.01}};
    training::Trainer trainer(training.initial(), training.gradient(), options, training.decays());
    while (trainer.steps() < pause) trainer.step();
    const std::string file = "sequence_pause.checkpoint";
    training::save_checkpoint(file, "sequence", trainer.state());
    training::Trainer again(training.initial(3), training.gradient(), options, training.decays());
    again.resume(training::load_checkpoint(file, "sequence"));
    std::remove(file.c_str());
    while (again.steps() < 7) again.step();
    return again.parameters();
  };
  const auto expected = run(simulate::Device::serial, 1, 0);
  CHECK(run(simulate::Device::serial, 1, 5) == expected);
  CHECK(run(simulate::Device::openmp, 1, 7) == expected);
  CHECK(run(simulate::Device::openmp, 3, 2) == expected);
}

TEST_CASE("affine functions are learned, and not with gradients of the wrong sign", "[training]") {
  const auto error_after = [](double sign, int steps) {
    using Softmax = LearnedMap<scoring::Softmax<float>>;
    SequenceShape shape = small_shape;
    shape.width = 16;
    const SequenceTraining<Softmax> training({shape, Softmax{{3}}}, affine_sequences<float>({.seed = 41}, 20),
                                             {.seed = 2, .batch = 16, .device = simulate::Device::serial});
    const training::GradientFunction gradient = [sign, own = training.gradient()](std::span<const double> at,
                                                                                  std::int64_t step) {
      auto batch = own(at, step);
      for (double& g : batch.gradient) g *= sign;
      return batch;
    };
    training::Trainer trainer(
        training.initial(), gradient,
        {.rate = {.peak = 5e-3, .decay = training::RateDecay::cosine, .steps = 300}, .largest_gradient_norm = 1},
        training.decays());
    while (trainer.steps() < steps) trainer.step();
    double sum = 0;
    training.each_output(trainer.parameters(), affine_sequences<float>({.seed = 9}, 20), 64, 20,
                         [&](std::int64_t, const auto& drawn, const auto& outputs) {
                           for (Eigen::Index j = 0; j < outputs.cols(); ++j) {
                             if (j % 20 < 2) continue;
                             const double apart = static_cast<double>(outputs(0, j) - drawn.targets(0, j));
                             sum += apart * apart / (64 * 18);
                           }
                         });
    return sum;
  };
  const double learned = error_after(1, 300);
  const auto risks = training::affine_risks(training::AffineTask<double>{1, 1});
  CHECK(learned < 0.25 * risks.one_example);  // more is read than one example
  CHECK(error_after(1, 0) > 1);
  CHECK(error_after(-1, 60) > 1.2 * risks.no_example);
}

TEST_CASE("training on sequences refuses what it cannot train, by name", "[training]") {
  const auto refused = [](const SequenceBatches& batches) {
    return message_of([&] { affine_training<float>(small_shape, batches); });
  };
  CHECK(names(refused({.batch = 0}), "batch", "0"));
  CHECK(names(refused({.threads = -1}), "threads", "-1"));
  CHECK(names(refused({.device = simulate::Device::cuda}), "device", "cuda"));
  const auto training = affine_training<float>(small_shape, {});
  CHECK(names(message_of([&] { (void)training.initial(0); }), "scale", "0"));
  training::Trainer wild(std::vector<double>(static_cast<std::size_t>(training.model().layout().size()), 1e30),
                         training.gradient(), {});
  CHECK(refuses<std::domain_error>([&] { wild.step(); }, {"diverged", "step 0"}));
}

}  // namespace incontext::testing::sequence_training_test
