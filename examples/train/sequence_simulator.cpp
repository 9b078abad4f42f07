#include "examples/train/sequence_simulator.hpp"

#include <incontext/maps/any_map.hpp>
#include <incontext/sampled_training/needle_training.hpp>
#include <incontext/sampled_training/task_sequences.hpp>
#include <incontext/statistics/moments.hpp>
#include <incontext/training/learned_map.hpp>
#include <incontext/training/output_bound.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "examples/support/simulation_runs.hpp"
#include "examples/support/text.hpp"
#include "examples/train/kept_training.hpp"

namespace incontext::examples::train {

namespace {

using namespace incontext::training;
using Map = training::AnyLearnedMap<float>;
using Training = SequenceTraining<Map>;
using Stream = SequenceStream<float>;

constexpr int heads = 4;
constexpr std::int64_t warmup_steps = 50;
/// Every map has room for SSA's two parameters, so that a map may replace another one.
constexpr int map_parameters = 2;

/// The mean of log n over the rows of a sequence: SSMax starts as softmax does at this mean.
float mean_log_length(std::int64_t tokens) {
  double sum = 0;
  for (std::int64_t n = 1; n <= tokens; ++n) sum += std::log(n) / static_cast<double>(tokens);
  return static_cast<float>(sum);
}

/// The maps of the heads, with the usual temperature.
std::vector<Map> maps_of(const std::string& name, const SequenceRun& run) {
  const auto temperature = std::sqrt(static_cast<float>(run.width) / heads);
  const Map softmax(scoring::Softmax<float>{temperature}), average(maps::find_map<float>("average"));
  const auto all = [](const Map& map) { return std::vector<Map>(heads, map); };
  if (name == "softmax") return all(softmax);
  if (name == "ssa") return all(Map(scoring::SSA<float>{1, 1.5f, temperature}, {"base", "exponent"}));
  if (name.starts_with("ssmax")) {
    const scoring::SSMax<float> usual{1 / (mean_log_length(run.length) * temperature)};
    if (name == "ssmax") return all(Map(usual, {"scale"}));
    if (name == "ssmax-bias") return all(Map(usual, {"scale", "bias"}));
    return all(Map(scoring::SSMax<float>{1 / temperature}));
  }
  if (name == "soft-average") return {softmax, softmax, average, average};
  if (name == "four") {
    const auto named = [](const char* map) { return Map(maps::find_map<float>(map)); };
    return {named("tanh"), average, named("relu"), named("square")};
  }
  for (const SequenceMap& map : sequence_maps()) {
    if (map.name == name) return all(Map(maps::find_map<float>(name)));
  }
  std::vector<std::string> known;
  for (const SequenceMap& map : sequence_maps()) known.push_back(map.name);
  throw_unknown_word("--maps", name, known, ", ");
}

training::SequenceTransformer<Map> model_of(const SequenceRun& run, const std::string& map, int features, int outputs) {
  return {{.features = features,
           .outputs = outputs,
           .width = static_cast<int>(run.width),
           .heads = heads,
           .layers = static_cast<int>(run.layers),
           .hidden = run.has_mlp ? static_cast<int>(2 * run.width) : 0,
           .map_parameters = map_parameters,
           .norms = run.has_norms ? training::LayerNorms::first : training::LayerNorms::none},
          maps_of(map, run)};
}

/// A trained transformer, with what its weights say.
struct Trained {
  Training training;
  std::vector<double> parameters;
  TrainedSequence result;
};

void read_weights(Trained& trained) {
  const auto& layout = trained.training.model().layout();
  trained.result.bound = std::numeric_limits<double>::quiet_NaN();
  if (layout.shape().norms == training::LayerNorms::first) {
    trained.result.bound = training::output_bound(layout, std::span<const double>(trained.parameters)).largest();
  }
  const std::vector<float> numbers(trained.parameters.begin(), trained.parameters.end());
  const auto& maps = trained.training.model().maps();
  double rows = 0, squares = 0, entries = 0;
  for (int layer = 0; layer < layout.shape().layers; ++layer) {
    for (const auto part : {training::TransformerPart::query, training::TransformerPart::key}) {
      const auto weights = layout.part(numbers.data(), part, layer);
      squares += static_cast<double>(weights.squaredNorm());
      entries += static_cast<double>(weights.size());
    }
    const auto own = layout.part(numbers.data(), training::TransformerPart::map, layer);
    for (std::size_t head = 0; head < maps.size(); ++head) {
      const auto values = maps[head].values(own.col(static_cast<Eigen::Index>(head)).data());
      trained.result.map_parameters.resize(values.size(), 0.0);
      for (std::size_t i = 0; i < values.size(); ++i)
        trained.result.map_parameters[i] += static_cast<double>(values[i]);
      ++rows;
    }
  }
  for (double& value : trained.result.map_parameters) value /= rows;
  trained.result.query_key_size = std::sqrt(squares / entries);
}

}  // namespace

const std::vector<SequenceMap>& sequence_maps() {
  static const std::vector<SequenceMap> all{{"softmax", "temperature sqrt(d_k)"},
                                            {"ssa", "SSA, b from 1 and k from 1.5 learned per head"},
                                            {"ssmax", "SSMax, s learned per head"},
                                            {"ssmax-bias", "softmax of (s log n + b) z, both learned per head"},
                                            {"ssmax-fixed", "SSMax with s = 1"},
                                            {"soft-average", "half of the heads softmax, half average"},
                                            {"four", "one head each of tanh, average, ReLU and square, over n"},
                                            {"sa-softmax", "scores times softmax"},
                                            {"average", "no scores"}};
  return all;
}

// Functions that are found by their arguments are in no unnamed namespace.
static void pass_fields(Numbers& numbers, TrainedSequence& at) {
  numbers(at.reached, at.loss, at.bound, at.map_parameters, at.query_key_size);
}

static void pass_fields(Numbers& numbers, AffineAnswers& at) { numbers(at.error, at.zero, at.largest); }

static void pass_fields(Numbers& numbers, QuantifierAnswers& at) {
  numbers(at.sequences, at.right, at.as_largest, at.all_right, at.constant_right);
}

static void pass_fields(Numbers& numbers, RecallAnswers& at) {
  numbers(at.sequences, at.right, at.constant_right, at.own_right);
}

namespace {

/// What a training tells at its end.
template <class Answers>
struct SequenceEnd {
  TrainedSequence trained = {};
  std::vector<Answers> answers = {};
};

template <class Answers>
void pass_fields(Numbers& numbers, SequenceEnd<Answers>& end) {
  numbers(end.trained, end.answers);
}

struct NeedleEnd {
  double learned = 0;
};

void pass_fields(Numbers& numbers, NeedleEnd& end) { numbers(end.learned); }

}  // namespace

struct SequenceSimulator::State {
  SimulationRuns runs;

  /// Trains, and calls test(trained), which fills in the answers, at the end unless a stop request came.
  template <class Answers, class Test>
  TrainedSequence train(const std::string& what, const SequenceRun& run, const Stream& stream, int features,
                        int outputs, std::int64_t sequences, std::vector<Answers>& answers, const Test& test) {
    TrainedSequence result;
    runs.train(what, [&](const simulate::Options& options) {
      KeptTraining kept(runs.summary().file.get(), what, options, run.steps);
      SimulationRuns::Training all;
      all.drawn = run.steps * run.batch + sequences * std::ssize(answers);
      if (kept.is_complete()) {
        const auto ends = kept.template results<SequenceEnd<Answers>>();
        if (ends.size() != 1 || ends.front().answers.size() != answers.size()) {
          throw InputError("--resume: the results of a training in the record are not whole");
        }
        result = ends.front().trained;
        answers = ends.front().answers;
        return all;
      }
      const SequenceBatches batches{
          .seed = run.seed, .batch = run.batch, .device = options.device, .threads = options.threads};
      const training::TrainerOptions how{.rate = {.peak = run.rate,
                                                  .warmup_steps = std::min(warmup_steps, run.steps),
                                                  .decay = training::RateDecay::cosine,
                                                  .steps = run.steps},
                                         .largest_gradient_norm = 1,
                                         .largest_loss_growth = diverged_loss_growth};
      const Training first(model_of(run, run.map, features, outputs), stream, batches);
      training::Trainer trainer(first.initial(), first.gradient(), how, first.decays());
      kept.resume(trainer);
      const bool swaps = !run.last_map.empty();
      kept.advance(trainer, swaps ? run.last_from : run.steps);
      Trained trained{
          swaps ? Training(model_of(run, run.last_map, features, outputs), stream, batches) : first, {}, {}};
      training::Trainer rest(trained.training.initial(), trained.training.gradient(), how, first.decays());
      rest.resume(trainer.state());
      kept.advance(rest, run.steps);
      trained.parameters = rest.parameters();
      trained.result.loss = kept.last().loss;
      read_weights(trained);
      bool is_cut = simulate::InterruptGuard::requested();
      if (!is_cut) trained.result.reached = test(trained);
      is_cut = is_cut || !trained.result.reached;
      result = trained.result;
      if (is_cut) {
        all.drawn = kept.steps() * run.batch;
        all.interrupted = true;
        return all;
      }
      kept.add(SequenceEnd<Answers>{result, answers});
      kept.end();
      return all;
    });
    return result;
  }
};

SequenceSimulator::SequenceSimulator(const SimulationOptions& options, bool quiet)
    : state_(new State{SimulationRuns(options, quiet)}) {}
SequenceSimulator::~SequenceSimulator() = default;

bool SequenceSimulator::stopped() const { return state_->runs.stopped(); }
const RunSummary& SequenceSimulator::summary() const { return state_->runs.summary(); }

namespace {

/// The seeds of sequences that are trained on, and of those of tests. Every run has its own, so that the spread over
/// runs is the whole error of their mean; maps that share a seed share both.
std::uint64_t training_seed(const SequenceRun& run) { return 0x5EED0000ULL + run.seed; }
std::uint64_t test_seed(const SequenceRun& run) { return 0x7E570000ULL + run.seed; }

statistics::Estimate estimate_of(const std::vector<double>& values) {
  return statistics::Estimate(statistics::moments_of(values.data(), std::ssize(values)));
}

/// The tests' errors, sequence by sequence: the metric's points are 3 to 40.
bool answer(const Trained& trained, const SequenceRun& run, const AffineTest& test, std::int64_t sequences,
            AffineAnswers& answers) {
  const std::int64_t length = run.length;
  const auto stream = affine_sequences<float>({.seed = test_seed(run),
                                               .input_stddev = static_cast<float>(test.input_stddev),
                                               .function_stddev = static_cast<float>(test.function_stddev),
                                               .first_input_stddev = static_cast<float>(test.first_input_stddev)},
                                              length);
  std::vector<double> errors(static_cast<std::size_t>(sequences)), zeros(errors.size()), largest(errors.size());
  const bool done = trained.training.each_output(
      trained.parameters, stream, sequences, length,
      [&](std::int64_t first, const training::SequenceExamples<float>& drawn, const training::Matrix<float>& outputs) {
        for (Eigen::Index j = 0; j < outputs.cols(); ++j) {
          const auto s = static_cast<std::size_t>(first + j / length);
          const auto own = static_cast<double>(outputs(0, j)), truth = static_cast<double>(drawn.targets(0, j));
          largest[s] = std::max(largest[s], std::abs(own));
          if (j % length < 2) continue;
          errors[s] += (own - truth) * (own - truth) / static_cast<double>(length);
          zeros[s] += truth * truth / static_cast<double>(length);
        }
      });
  answers = {estimate_of(errors), estimate_of(zeros), *std::max_element(largest.begin(), largest.end())};
  return done;
}

QuantifierNumbers numbers_of(NumbersChoice choice) {
  return choice == NumbersChoice::independent ? QuantifierNumbers::independent : QuantifierNumbers::one_exception;
}

bool answer(const Trained& trained, const SequenceRun& run, const QuantifierTest& test, QuantifierChoice choice,
            std::int64_t sequences, QuantifierAnswers& answers) {
  const auto quantifier = choice == QuantifierChoice::every ? Quantifier::every : Quantifier::some;
  const auto stream =
      quantifier_sequences<float>({.seed = test_seed(run), .input_stddev = static_cast<float>(test.input_stddev)},
                                  quantifier, numbers_of(test.numbers), test.length);
  std::vector<char> right(static_cast<std::size_t>(sequences)), as_largest(right.size()), all_right(right.size(), 1),
      constant_right(right.size(), 1);
  const bool done = trained.training.each_output(
      trained.parameters, stream, sequences, test.length,
      [&](std::int64_t first, const training::SequenceExamples<float>& drawn, const training::Matrix<float>& outputs) {
        for (Eigen::Index j = 0; j < outputs.cols(); ++j) {
          const auto s = static_cast<std::size_t>(first + j / test.length);
          const bool says_yes = outputs(1, j) > outputs(0, j), is_yes = drawn.targets(1, j) > 0;
          if (j % test.length >= 3 && says_yes != is_yes) all_right[s] = 0;
          if (j % test.length >= 3 && is_yes != (choice == QuantifierChoice::some)) constant_right[s] = 0;
          if (j % test.length != test.length - 1) continue;
          const auto own = drawn.features.row(quantifier_input).segment(j - test.length + 1, test.length);
          right[s] = says_yes == is_yes ? 1 : 0;
          as_largest[s] = says_yes == (own.maxCoeff() > 0) ? 1 : 0;
        }
      });
  const auto counted = [](const std::vector<char>& yes) { return std::count(yes.begin(), yes.end(), char{1}); };
  answers = {sequences, counted(right), counted(as_largest), counted(all_right), counted(constant_right)};
  return done;
}

static_assert(recall_values * recall_chance == 1);

bool answer(const Trained& trained, const SequenceRun& run, std::int64_t length, std::int64_t sequences,
            RecallAnswers& answers) {
  std::atomic<std::int64_t> right{0}, constant_right{0}, own_right{0};
  const bool done = trained.training.each_output(
      trained.parameters, recall_sequences<float>(test_seed(run), length), sequences, length,
      [&](std::int64_t, const training::SequenceExamples<float>& drawn, const training::Matrix<float>& outputs) {
        for (Eigen::Index last = length - 1; last < outputs.cols(); last += length) {
          Eigen::Index said = 0;
          outputs.col(last).maxCoeff(&said);
          right += drawn.targets(said, last) > 0 ? 1 : 0;
          constant_right += drawn.targets(0, last) > 0 ? 1 : 0;
          own_right += drawn.features.col(last).segment(recall_value, recall_values).dot(drawn.targets.col(last)) > 0;
        }
      });
  answers = {sequences, right, constant_right, own_right};
  return done;
}

}  // namespace

TrainedSequence SequenceSimulator::affine(const std::string& what, const SequenceRun& run,
                                          const std::vector<AffineTest>& tests, std::int64_t sequences,
                                          std::vector<AffineAnswers>& answers) {
  answers.assign(tests.size(), {});
  const auto stream = affine_sequences<float>(
      {.seed = training_seed(run), .input_stddev = static_cast<float>(run.input_stddev)}, run.length);
  return state_->train(what, run, stream, affine_features, 1, sequences, answers, [&](const Trained& one) {
    bool done = true;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      done = done && answer(one, run, tests[i], sequences, answers[i]);
    }
    return done;
  });
}

TrainedSequence SequenceSimulator::quantifier(const std::string& what, const SequenceRun& run, QuantifierChoice choice,
                                              const std::vector<QuantifierTest>& tests, std::int64_t sequences,
                                              std::vector<QuantifierAnswers>& answers) {
  answers.assign(tests.size(), {});
  const auto stream = quantifier_sequences<float>(
      {.seed = training_seed(run), .input_stddev = static_cast<float>(run.input_stddev)},
      choice == QuantifierChoice::every ? Quantifier::every : Quantifier::some, numbers_of(run.numbers), run.length);
  return state_->train(what, run, stream, quantifier_features, 2, sequences, answers, [&](const Trained& one) {
    bool done = true;
    for (std::size_t i = 0; i < tests.size(); ++i)
      done = done && answer(one, run, tests[i], choice, sequences, answers[i]);
    return done;
  });
}

TrainedSequence SequenceSimulator::recall(const std::string& what, const SequenceRun& run,
                                          const std::vector<std::int64_t>& lengths, std::int64_t sequences,
                                          std::vector<RecallAnswers>& answers) {
  answers.assign(lengths.size(), {});
  const auto stream = recall_sequences<float>(training_seed(run), run.length);
  return state_->train(what, run, stream, recall_features, recall_values, sequences, answers, [&](const Trained& one) {
    bool done = true;
    for (std::size_t i = 0; i < lengths.size(); ++i) done = done && answer(one, run, lengths[i], sequences, answers[i]);
    return done;
  });
}

double SequenceSimulator::needle(const std::string& what, const NeedleRun& run) {
  double learned = std::numeric_limits<double>::quiet_NaN();
  SimulationRuns& runs = state_->runs;
  runs.train(what, [&](const simulate::Options& options) {
    const NeedleTraining training(
        run.lengths, run.by_log_length ? NeedleRule::log_length : NeedleRule::constant,
        {.seed = run.seed,
         .law = run.normal_competitors ? simulate::ScoreLaw::normal : simulate::ScoreLaw::uniform,
         .needle_mean = run.needle_mean,
         .needle_stddev = run.needle_stddev,
         .batch = run.batch,
         .device = options.device,
         .threads = options.threads});
    training::Trainer trainer(training.initial(), training.gradient(),
                              {.adam = {.beta2 = 0.98},
                               .rate = {.peak = run.rate, .decay = training::RateDecay::cosine, .steps = run.steps},
                               .largest_loss_growth = diverged_loss_growth});
    KeptTraining kept(runs.summary().file.get(), what, options, run.steps);
    kept.resume(trainer);
    const auto ends = kept.template results<NeedleEnd>();
    SimulationRuns::Training all;
    all.interrupted = ends.empty() && !kept.advance(trainer, run.steps);
    if (!ends.empty()) {
      learned = ends.front().learned;
    } else if (!all.interrupted) {
      learned = trainer.parameters().front();
      kept.add(NeedleEnd{learned});
      kept.end();
    }
    all.drawn = kept.steps() * run.batch * std::ssize(run.lengths);
    return all;
  });
  return learned;
}

}  // namespace incontext::examples::train
