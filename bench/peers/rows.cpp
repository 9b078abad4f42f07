#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/apply/layer.hpp"
#include "bench/support/build.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/apply/derivative.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/scoring/detail/signed_logarithm.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/score_function.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

// Our side of bench/compare rows, which takes one order per line:
//   {"work": "copy" | "softmax" | ... , "threads": t, "repetitions": k} -> wall and processor time of the fastest
// and, for "row", the weights of one row and its vjp along the scores themselves, which the peers must find, too.

namespace {

using namespace incontext;
using Json = nlohmann::json;

constexpr Eigen::Index length = 4096;
constexpr Eigen::Index dimension = 64;
constexpr float temperature = 8;
constexpr int chains = 12;  // two units of four cycles need eight; twelve and two constants fit in 16 registers

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Multiplies and adds `steps` times, in registers, in as many independent chains as keep a core busy.
template <bool fused>
float peak(std::int64_t steps) {
  Pack<float> x[chains];
  volatile float unknown = 0.999f;  // and all numbers differ, so that no compiler finds less work to do
  const float factor = unknown, term = 1 - factor;
  for (int k = 0; k < chains; ++k) {
    for (int l = 0; l < pack_width<float>; ++l) x[k][l] = static_cast<float>(k) + factor * static_cast<float>(l);
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    for (int k = 0; k < chains; ++k) {
      if constexpr (fused) {
        for (int l = 0; l < pack_width<float>; ++l) x[k][l] = __builtin_fmaf(x[k][l], factor, term);
      } else {
        x[k] = x[k] * factor + term;
      }
    }
  }
  float sum = 0;
  for (int k = 0; k < chains; ++k) {
    for (int l = 0; l < pack_width<float>; ++l) sum += x[k][l];
  }
  return sum;
}

/// Calls `work` in each of several threads. It returns a positive number, which is read so that the compiler does not
/// leave the work out.
template <class Work>
void in_threads(int threads, const Work& work) {
  std::vector<std::thread> team;
  std::atomic<float> kept = 0;
  for (int t = 0; t < threads; ++t) team.emplace_back([&] { kept = work(); });
  for (auto& thread : team) thread.join();
  if (!(kept > 0)) throw std::logic_error("bench-peers-rows: a sum of positive numbers is not positive");
}

/// The multiplications and additions of fused attention, forward, at the peak of `threads` cores.
template <bool fused>
void products_of_attention(int threads) {
  constexpr std::int64_t pairs = 2 * std::int64_t{length} * length * dimension;
  const std::int64_t steps = pairs / (std::int64_t{chains} * pack_width<float> * threads);
  in_threads(threads, [steps] { return peak<fused>(steps); });
}

/// The powers 2^exponent(z) of as many scores as a matrix of the benchmark has, and their sum in plain additions, from a
/// block that stays in the first cache and without writing: the arithmetic that a row of weights cannot do without.
template <class Exponent>
float powers(const Exponent& exponent, std::int64_t numbers) {
  constexpr int block = 1024;
  constexpr int side_by_side = 4;
  std::vector<float> scores(block);
  for (std::size_t i = 0; i < block; ++i) scores[i] = 4 * static_cast<float>(i) / block - 4;
  Pack<float> sum[side_by_side] = {};
  for (std::int64_t done = 0; done < numbers; done += block) {
    for (int i = 0; i < block; i += side_by_side * pack_width<float>) {
      for (int k = 0; k < side_by_side; ++k) {
        const float* const z = scores.data() + i + k * pack_width<float>;
        sum[k] += elementary::exp2_of<float>(exponent(load_pack(z)));
      }
    }
    asm volatile("" : : "r"(scores.data()) : "memory");  // the next block may be another one
  }
  float total = 0;
  for (int k = 0; k < side_by_side; ++k) {
    for (int l = 0; l < pack_width<float>; ++l) total += sum[k][l];
  }
  return total;
}

template <class Work>
Json fastest(const Work& work, int repetitions) {
  double wall = std::numeric_limits<double>::infinity();
  double processor = wall;
  work();
  for (int i = 0; i < repetitions; ++i) {
    const double wall_before = wall_seconds(), processor_before = processor_seconds();
    work();
    wall = std::min(wall, wall_seconds() - wall_before);
    processor = std::min(processor, processor_seconds() - processor_before);
  }
  return {{"wall", wall}, {"processor", processor}};
}

class Works {
 public:
  explicit Works(int threads) {
    const auto options = bench::with_threads(threads);
    work_["copy"] = [=] { bench::copy(scores_, out_, threads); };
    work_["softmax in place"] = [=] { apply::weights(scoring::Softmax<float>{}, out_, out_, options); };
    add("softmax", scoring::Softmax<float>{}, scoring::parameter::Temperature{}, options);
    work_["softmax vjp from the weights"] = [=] {
      static const bench::Matrix kept = [&] {
        bench::Matrix weights = bench::Matrix::Zero(length, length);
        apply::weights(scoring::Softmax<float>{}, scores_, weights, options);
        return weights;
      }();
      apply::vjp_from_weights(scoring::Softmax<float>{}, scores_, kept, cotangent_, out_, options);
    };
    add("SSMax", scoring::SSMax<float>{0.25f}, scoring::parameter::Scale{}, options);
    add("SSA", scoring::SSA<float>{}, scoring::parameter::Exponent{}, options);
    add("NormSoftmax", scoring::NormSoftmax<float>{0.25f}, scoring::parameter::Temperature{}, options);
    add("ReLU over its sum", scoring::RatioScore<scoring::Relu, float>{scoring::ScoreNormalization::sum}, options);
    work_["fused attention"] = [=] {
      apply::attend(scoring::Softmax<float>{temperature}, layer_.queries, layer_.keys, layer_.values, layer_.out,
                    options);
    };
    work_["fused attention backward"] = [=] {
      apply::attention_gradient(scoring::Softmax<float>{temperature}, layer_.queries, layer_.keys, layer_.values,
                                layer_.out, {to_queries_, to_keys_, to_values_}, options);
    };
    work_["products apart"] = [=] { products_of_attention<false>(threads); };
    work_["products fused"] = [=] { products_of_attention<true>(threads); };
    const std::int64_t share = std::int64_t{length} * length / threads;
    work_["powers alone"] = [=] {
      in_threads(threads, [=] { return powers(scoring::detail::LinearExponent<float>(1, 0), share); });
    };
    work_["logarithms and powers alone"] = [=] {
      in_threads(threads, [=] { return powers(scoring::detail::SignedProductExponent{1, 1.5f, 1, 1}, share); });
    };
    work_["three steps of Eigen"] = [=] { bench::three_steps(layer_, temperature, threads); };
  }
  Json run(const std::string& name, int repetitions) { return fastest(work_.at(name), repetitions); }

 private:
  /// Weights of all rows and both products with the Jacobian.
  template <class Map>
  void add(const std::string& name, const Map& map, const apply::Options& options) {
    work_[name] = [=] { apply::weights(map, scores_, out_, options); };
    work_[name + " vjp"] = [=] { apply::vjp(map, scores_, cotangent_, out_, options); };
    work_[name + " jvp"] = [=] { apply::jvp(map, scores_, cotangent_, out_, options); };
  }

  /// And the derivative of a weighted sum by a parameter.
  template <class Map, class Parameter>
  void add(const std::string& name, const Map& map, Parameter parameter, const apply::Options& options) {
    add(name, map, options);
    work_[name + " derivative"] = [=] {
      out_(0, 0) = static_cast<float>(apply::derivative(map, parameter, scoring::MatrixView<const float>(scores_),
                                                        scoring::MatrixView<const float>(cotangent_), options));
    };
  }

  static inline bench::Matrix scores_ = bench::normal_matrix(length, length, 1);
  static inline bench::Matrix out_ = bench::Matrix::Zero(length, length);
  static inline bench::Matrix cotangent_ = bench::normal_matrix(length, length, 2);
  static inline bench::Matrix to_queries_ = bench::Matrix::Zero(length, dimension);
  static inline bench::Matrix to_keys_ = bench::Matrix::Zero(length, dimension);
  static inline bench::Matrix to_values_ = bench::Matrix::Zero(length, dimension);
  static inline bench::Layer layer_ = bench::make_layer(length, dimension);
  std::map<std::string, std::function<void()>> work_;
};

Json answer(const Json& order) {
  if (order.at("work") == "row") {
    std::vector<float> row = order.at("scores");
    const std::vector<float> scores = row;
    std::vector<float> pulled(row.size());
    weights(scoring::Softmax<float>{}, row, row);
    vjp(scoring::Softmax<float>{}, scores, scores, pulled);  // the cotangent is the scores themselves
    return {{"weights", row}, {"vjp", pulled}};
  }
  return Works(order.at("threads")).run(order.at("work"), order.at("repetitions"));
}

}  // namespace

int main() {
  try {
    std::cout << Json{{"name", "incontext"},
                      {"version", bench::build_version},
                      {"commit", bench::build_commit()},
                      {"compiler", bench::build_compiler},
                      {"flags", bench::build_flags}}
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(Json::parse(line)) << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "bench-peers-rows: " << error.what() << '\n';
    return 2;
  }
}
