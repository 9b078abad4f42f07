#include "incontext/classification.hpp"

#include <vector>

#include "core.hpp"
#include "records.hpp"
#include "rooms.hpp"

namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
namespace law = classification;

void bind_sphere(Room& room) {
  const auto d = number("dimension"), kappa = number("kappa"), l = number("context_length");
  const auto query = choice("query", "regression.QueryToken");
  const auto lambda = number("lambda_");
  room.form("adaptive_onset_ratio", [](I c) { return law::adaptive_onset_ratio<D>(c); }, {number("classes")});
  room.form("hemisphere_contrast", [](I n, D k, D a) { return law::hemisphere_contrast(n, k, a); },
            {d, kappa, number("boundary_angle")});
  room.form("inverse_partition_function",
            [](I n, D k, I len, QueryToken q) { return law::inverse_partition_function(n, k, len, q); },
            {d, kappa, l, query});
  room.form("log_kernel_mean", [](I n, D k) { return law::log_kernel_mean(n, k); }, {d, kappa});
  room.form("kernel_mean", [](I n, D k) { return law::kernel_mean(n, k); }, {d, kappa});
  room.form("mean_resultant_length", [](I n, D k) { return law::mean_resultant_length(n, k); }, {d, kappa});
  room.form("expected_largest_weight",
            [](I n, D k, I len, QueryToken q) { return law::expected_largest_weight(n, k, len, q); },
            {d, kappa, l, query});
  room.form("long_context", [](I n, D k, I len) { return law::long_context(n, k, len); }, {d, kappa, l});
  room.form("partition_function_excess", [](I n, D k) { return law::partition_function_excess(n, k); }, {d, kappa});
  room.form("log_kernel_second_moment_ratio", [](I n, D k) { return law::log_kernel_second_moment_ratio(n, k); },
            {d, kappa});
  room.form("partition_function_variation",
            [](I n, D k, I len, QueryToken q) { return law::partition_function_variation(n, k, len, q); },
            {d, kappa, l, query});
  room.form("sparse_largest_weight", [](I n, D x) { return law::sparse_largest_weight(n, x); }, {d, lambda});
  room.form("sphere_constants", [](I n) { return law::sphere_constants<D>(n); }, {d});
  // the C++ function has an overload without a dimension, for infinitely many
  room.form("sparse_neighborhood",
            [](D x, D n) {
              if (std::isinf(n)) return law::sparse_neighborhood(x);
              return law::sparse_neighborhood(static_cast<I>(n), x);
            },
            {lambda, number("dimension", std::numeric_limits<D>::infinity(), "math.inf")});
}

void bind_two_classes(Room& room) {
  const auto d = number("dimension"), kappa = number("kappa"), l = number("context_length");
  const auto query = choice("query", "regression.QueryToken"), angle = number("boundary_angle");
  const auto rate = number("learning_rate"), gain = number("gain");
  room.form("kernel_cross_entropy", [](I n, D k, I len, D r) { return law::kernel_cross_entropy(n, k, len, r); },
            {d, kappa, l, rate});
  room.form("adaptive_cross_entropy",
            [](I n, D k, I len, D g, QueryToken q) { return law::adaptive_cross_entropy(n, k, len, g, q); },
            {d, kappa, l, gain, query});
  room.form("linear_cross_entropy_error", [](I n, I len, D r) { return law::linear_cross_entropy_error(n, len, r); },
            {d, l, rate});
  room.form("kernel_cross_entropy_error",
            [](I n, D k, I len, D r) { return law::kernel_cross_entropy_error(n, k, len, r); }, {d, kappa, l, rate});
  room.form("adaptive_cross_entropy_error",
            [](I n, D k, I len, D g, QueryToken q) { return law::adaptive_cross_entropy_error(n, k, len, g, q); },
            {d, kappa, l, gain, query});
  room.form("two_class_layer", [](I n, D k, I len) { return law::two_class_layer(n, k, len); }, {d, kappa, l});
  room.form("linear_logit_difference", [](I n, D a, I len, D r) { return law::linear_logit_difference(n, a, len, r); },
            {d, angle, l, rate});
  room.form("kernel_logit_difference",
            [](I n, D k, D a, I len, D r) { return law::kernel_logit_difference(n, k, a, len, r); },
            {d, kappa, angle, l, rate});
  room.form("adaptive_logit_difference",
            [](I n, D k, D a, I len, D g, QueryToken q) { return law::adaptive_logit_difference(n, k, a, len, g, q); },
            {d, kappa, angle, l, gain, query});
  room.form("expected_adaptive_logit_difference",
            [](I n, D k, D a, I len, D g, QueryToken q) {
              return law::expected_adaptive_logit_difference(n, k, a, len, g, q);
            },
            {d, kappa, angle, l, gain, query});
  room.form("linear_margin", [](I n, I len, D r) { return law::linear_margin(n, len, r); }, {d, l, rate});
  room.form("kernel_margin", [](I n, D k, I len, D r) { return law::kernel_margin(n, k, len, r); },
            {d, kappa, l, rate});
  room.form("mean_adaptive_margin",
            [](I n, D k, I len, D g, QueryToken q) { return law::mean_adaptive_margin(n, k, len, g, q); },
            {d, kappa, l, gain, query});
  room.form("linear_cross_entropy", [](I n, I len, D r) { return law::linear_cross_entropy(n, len, r); }, {d, l, rate});
  room.form("linear_accuracy", [](I n, I len) { return law::linear_accuracy<D>(n, len); }, {d, l});
  room.form("kernel_accuracy", [](I n, D k, I len) { return law::kernel_accuracy(n, k, len); }, {d, kappa, l});
  room.form("best_linear_rate_leading", [](I n, I len) { return law::best_linear_rate_leading<D>(n, len); }, {d, l});
  room.form("best_linear_rate", [](I n, I len) { return law::best_linear_rate<D>(n, len); }, {d, l});
}

void bind_contexts(Room& room) {
  nb::module_& m = room.module();
  using namespace nb::literals;
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  m.def(
      "predict", [](const DenseVector& logits, const DenseMatrix& slopes) { return law::predict<D>(logits, slopes); },
      "logits"_a, "logit_derivative"_a, room.docs("predict"));
  m.def(
      "cross_entropy", [](const law::Prediction<D>& p, I label) { return law::cross_entropy(p, label); },
      "prediction"_a, "label"_a, room.docs("cross_entropy"));
  m.def(
      "entropy", [](const law::Prediction<D>& p) { return law::entropy(p); }, "prediction"_a, room.docs("entropy"));
  m.def(
      "linear_descent", [](const law::Context<D>& c, D rate) { return law::linear_descent(c, rate); }, "context"_a,
      "learning_rate"_a, room.docs("linear_descent"));
  m.def(
      "kernel_descent",
      [](const law::Context<D>& c, D kappa, D rate, law::KernelForm form) {
        return law::kernel_descent(c, kappa, rate, form);
      },
      "context"_a, "kappa"_a, "learning_rate"_a, "form"_a.sig("incontext.classification.KernelForm.rbf") = 0,
      room.docs("kernel_descent"));
  m.def(
      "adaptive_descent",
      [](const law::Context<D>& c, D kappa, D gain, law::SelfTerm self) {
        return law::adaptive_descent(c, kappa, gain, self);
      },
      "context"_a, "kappa"_a, "gain"_a, "self"_a, room.docs("adaptive_descent"));
  m.def(
      "adaptive_rate",
      [](const law::Context<D>& c, D kappa, D gain, law::SelfTerm self) {
        return law::adaptive_rate(c, kappa, gain, self);
      },
      "context"_a, "kappa"_a, "gain"_a, "self"_a, room.docs("adaptive_rate"));
  m.def(
      "context_tokens", [](const law::Context<D>& c, QueryToken query) { return law::context_tokens(c, query); },
      "context"_a, "query"_a, room.docs("context_tokens"));
  m.def(
      "context_attention",
      [](const law::ContextAttention<D>& a, law::AttentionKind kind, D scale, const law::Context<D>& c, I label,
         QueryToken query) { return law::context_attention(a, kind, scale, c, label, query); },
      "attention"_a, "kind"_a, "scale"_a, "context"_a, "label"_a, "query"_a, room.docs("context_attention"));
  m.def(
      "rbf_context_attention",
      [](const law::ContextWeights<D>& w, const law::Context<D>& c, I label, QueryToken query) {
        return law::rbf_context_attention(w, c, label, query);
      },
      "weights"_a, "context"_a, "label"_a, "query"_a, room.docs("rbf_context_attention"));
  m.def(
      "merged", [](const law::ContextWeights<D>& w) { return law::merged(w); }, "weights"_a, room.docs("merged"));
  m.def("linear_construction", &law::linear_construction<D>, "dimension"_a, "classes"_a, "context_length"_a,
        "learning_rate"_a, room.docs("linear_construction"));
  m.def("kernel_construction", &law::kernel_construction<D>, "dimension"_a, "classes"_a, "context_length"_a, "kappa"_a,
        "learning_rate"_a, room.docs("kernel_construction"));
  m.def("rbf_construction", &law::rbf_construction<D>, "dimension"_a, "classes"_a, "context_length"_a, "kappa"_a,
        "learning_rate"_a, room.docs("rbf_construction"));
  m.def("softmax_construction", &law::softmax_construction<D>, "dimension"_a, "classes"_a, "kappa"_a, "gain"_a,
        room.docs("softmax_construction"));
  m.def(
      "centered", [](const law::ContextWeights<D>& w, I classes) { return law::centered(w, classes); }, "weights"_a,
      "classes"_a, room.docs("centered"));
  m.def(
      "effective_step",
      [](const law::ContextAttention<D>& a, D scale, I classes) { return law::effective_step(a, scale, classes); },
      "attention"_a, "scale"_a, "classes"_a, room.docs("effective_step"));
  m.def(
      "alignment",
      [](const law::Prediction<D>& one, const law::Prediction<D>& other) { return law::alignment(one, other); },
      "one"_a, "other"_a, room.docs("alignment"));
  m.def(
      "circle_cells",
      [](const std::vector<D>& prototypes, D query, D kappa, I length, D gain) {
        return law::circle_cells<D>(prototypes, query, kappa, length, gain);
      },
      "prototypes"_a, "query"_a, "kappa"_a, "context_length"_a, "gain"_a, Unlocked(), room.docs("circle_cells"));
  m.def(
      "circle_attention",
      [](const std::vector<D>& prototypes, D query, D kappa, I length, QueryToken token) {
        return law::circle_attention<D>(prototypes, query, kappa, length, token);
      },
      "prototypes"_a, "query"_a, "kappa"_a, "context_length"_a, "query_token"_a, Unlocked(),
      room.docs("circle_attention"));
  m.def(
      "cell_ratios",
      [](const DenseMatrix& prototypes, const DenseVector& query, D kappa, I draws, std::uint64_t seed,
         law::CellDraws kind) { return law::cell_ratios(prototypes, query, kappa, draws, seed, kind); },
      "prototypes"_a, "query"_a, "kappa"_a, "draws"_a = 65536, "seed"_a = 1,
      "kind"_a.sig("incontext.classification.CellDraws.automatic") = 0, Unlocked(), room.docs("cell_ratios"));
}

}  // namespace

void bind_classification(nb::module_& core) {
  Room room(core, "classification");
  bind_sphere(room);
  bind_two_classes(room);
  bind_contexts(room);
}

}  // namespace incontext::python
