#pragma once

#include <cmath>
#include <limits>

#include "classification/drawn_context.hpp"
#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/classification/context_descent.hpp"
#include "incontext/classification/rbf_context_attention.hpp"
#include "support/catch.hpp"

/// Attention with the constructed weights equals the gradient step, to rounding, also off the sphere, for every scalar.
namespace incontext::testing {

template <class T>
struct Constructed {
  classification::ContextWeights<T> weights;
  classification::AttentionKind kind;
  classification::QueryToken query;
  T scale;
  classification::Prediction<T> algorithm;
};

template <class T>
std::vector<Constructed<T>> constructions(const Context<T>& context) {
  using namespace classification;
  using std::sqrt;
  const std::int64_t d = context.inputs.cols(), k = context.classes, n = context.inputs.rows();
  const T kappa = T(1.75), rate = T(6), gain = T(3.5), width = T(1) / sqrt(T(static_cast<double>(d + k)));
  const auto soft = softmax_construction(d, k, kappa, gain);
  std::vector<Constructed<T>> all;
  for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
    const auto self = query == QueryToken::included ? SelfTerm::dot : SelfTerm::none;
    all.push_back(
        {linear_construction(d, k, n, rate), AttentionKind::linear, query, T(1), linear_descent(context, rate)});
    all.push_back({kernel_construction(d, k, n, kappa, rate), AttentionKind::exponential, query, T(1),
                   kernel_descent(context, kappa, rate, KernelForm::dot)});
    all.push_back({soft, AttentionKind::softmax, query, width, adaptive_descent(context, kappa, gain, self)});
  }
  return all;
}

/// Compares logits, probabilities and sensitivities, and checks that one weight off by 1 part in 1000 is detected.
template <class T>
void check_attention_is_descent(double tolerance_in_eps) {
  using namespace classification;
  ContextDraws draws(41);
  const T eps = std::numeric_limits<T>::epsilon();
  for (const std::int64_t k : {2, 5}) {
    const auto context = as<T>(draws.context(6, k, 4 * k));
    for (const auto& item : constructions(context)) {
      const auto apart = [&](const ContextWeights<T>& weights) {
        const auto pass = context_attention(merged(weights), item.kind, item.scale, context, 0, item.query);
        const T logits = distance(pass.prediction.logits, item.algorithm.logits);
        const T slopes = distance(pass.prediction.sensitivity, item.algorithm.sensitivity);
        return logits < slopes ? slopes : logits;
      };
      const T size = T(1) + item.algorithm.logits.cwiseAbs().maxCoeff();
      CHECK(apart(item.weights) <= T(tolerance_in_eps) * eps * size);
      for (Matrix<T> ContextWeights<T>::*which : {&ContextWeights<T>::query, &ContextWeights<T>::key,
                                                  &ContextWeights<T>::value, &ContextWeights<T>::projection}) {
        auto perturbed = item.weights;
        const Eigen::Index at = which == &ContextWeights<T>::query || which == &ContextWeights<T>::key ? 0 : 6;
        (perturbed.*which)(at, at) *= T(1.015625);
        CHECK(apart(perturbed) > T(tolerance_in_eps) * eps * size);
      }
    }
  }
}

/// The same for RBF kernel attention, which has a forward pass of its own.
template <class T>
void check_rbf_attention_is_descent(double tolerance_in_eps) {
  using namespace classification;
  ContextDraws draws(44);
  const T eps = std::numeric_limits<T>::epsilon(), kappa = T(1.75), rate = T(6);
  const Eigen::Index d = 6;
  for (const std::int64_t k : {2, 5}) {
    const auto context = as<T>(draws.context(d, k, 4 * k));
    const auto algorithm = kernel_descent(context, kappa, rate);
    const auto built = rbf_construction(d, k, 4 * k, kappa, rate);
    const T bound = T(tolerance_in_eps) * eps * (T(1) + algorithm.logits.cwiseAbs().maxCoeff());
    for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
      const auto apart = [&](const ContextWeights<T>& weights) {
        const auto pass = rbf_context_attention(weights, context, 0, query);
        const T logits = distance(pass.prediction.logits, algorithm.logits);
        const T slopes = distance(pass.prediction.sensitivity, algorithm.sensitivity);
        return logits < slopes ? slopes : logits;
      };
      CHECK(apart(built) <= bound);
      for (const auto& [which, at] : {std::pair{&ContextWeights<T>::query, Eigen::Index{0}},
                                      {&ContextWeights<T>::key, Eigen::Index{0}},
                                      {&ContextWeights<T>::value, d},
                                      {&ContextWeights<T>::projection, d}}) {
        auto perturbed = built;
        (perturbed.*which)(at, at) *= T(1.015625);
        CHECK(apart(perturbed) > bound);
      }
    }
  }
}

}  // namespace incontext::testing
