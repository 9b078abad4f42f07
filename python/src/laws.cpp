#include "incontext/laws.hpp"

#include "core.hpp"
#include "rooms.hpp"

namespace incontext::python {

void bind_laws_of_maps(Room& room);

namespace {

using D = double;

Parameter one_law(const char* name) {
  return {name, std::nullopt, nullptr, {"laws.NormalLaw", "laws.UniformLaw", "laws.TwoValueLaw"}, 3};
}

/// Calls `function` with the law that four numbers stand for.
template <class Function>
auto with_law(D kind, D a, D b, D c, const Function& function) {
  if (kind == 0) return function(laws::NormalLaw<D>{a});
  if (kind == 1) return function(laws::UniformLaw<D>{a, b});
  return function(laws::TwoValueLaw<D>{a, b, c});
}

void bind_rows(Room& room) {
  const auto row_length = number("row_length"), noise_count = number("noise_count"), gap = number("gap");
  const auto score_stddev = number("score_stddev"), noise_stddev = number("noise_stddev"), scale = number("scale");
  const auto weight = number("weight", 0.5), variance = number("variance"), dimension = number("dimension");
  room.form("critical_score_stddev", [](D n) { return laws::critical_score_stddev(n); }, {row_length});
  room.form("annealed_log_partition", [](D n, D x) { return laws::annealed_log_partition(n, x); },
            {row_length, score_stddev});
  room.form("quenched_log_partition", [](D n, D x) { return laws::quenched_log_partition(n, x); },
            {row_length, score_stddev});
  room.form("quenched_entropy", [](D n, D x) { return laws::quenched_entropy(n, x); }, {row_length, score_stddev});
  room.form("annealed_ipr", [](D n, D x) { return laws::annealed_ipr(n, x); }, {row_length, score_stddev});
  room.form("gaussian_powers", [](D t) { return laws::gaussian_powers(t); }, {number("theta")});
  room.form("frozen_row", [](D n, D x) { return laws::frozen_row(n, x); }, {row_length, score_stddev});
  room.form("largest_weight", [](D n, D x) { return laws::largest_weight(n, x); }, {row_length, score_stddev});
  room.form("top_scores_weight", [](D n, D k, D x) { return laws::top_scores_weight(n, k, x); },
            {row_length, number("top_count"), score_stddev});
  room.form("top_scores_needed", [](D n, D lost, D x) { return laws::top_scores_needed(n, lost, x); },
            {row_length, number("lost"), score_stddev});
  room.form("top_share_needed", [](D lost, D x) { return laws::top_share_needed(lost, x); },
            {number("lost"), score_stddev});
  room.form("gaussian_row", [](D n, D x) { return laws::gaussian_row(n, x); }, {row_length, score_stddev});
  room.form("poisson_dirichlet_power_sum", [](D m, D p) { return laws::poisson_dirichlet_power_sum(m, p); },
            {number("index"), number("power")});
  room.form("poisson_dirichlet_entropy", [](D m) { return laws::poisson_dirichlet_entropy(m); }, {number("index")});
  room.form("poisson_dirichlet_largest", [](D m) { return laws::poisson_dirichlet_largest(m); }, {number("index")});
  room.form("ssa_row",
            [](D b, D k, D t, D n, D v) {
              return laws::ssa_row(scoring::SSA<D>{b, k, t}, n, v);
            },
            {record("map", "scoring.SSA"), row_length, variance});
  room.form("ssa_needle_weight",
            [](D b, D k, D t, D n, D v, D z) {
              return laws::ssa_needle_weight(scoring::SSA<D>{b, k, t}, n, v, z);
            },
            {record("map", "scoring.SSA"), noise_count, variance, number("score")});
  room.form("gradient_sizes",
            [](const laws::GaussianRow<D>& row, D x, D dimensions) { return laws::gradient_sizes(row, x, dimensions); },
            {record("row", "laws.GaussianRow"), score_stddev, dimension});
  room.form("normsoftmax_gradient_sizes", [](D n, D d) { return laws::normsoftmax_gradient_sizes(n, d); },
            {row_length, dimension});
  room.form("query_imbalance",
            [](const laws::GradientSizes<D>& sizes, D keys) { return laws::query_imbalance(sizes, keys); },
            {record("sizes", "laws.GradientSizes"), number("key_dimension")});
  room.form("annealed_imbalance", [](D n, D x, D d) { return laws::annealed_imbalance(n, x, d); },
            {row_length, score_stddev, dimension});
  room.form("frozen_imbalance_quantile",
            [](D n, D x, D d, D share) {
              return laws::frozen_imbalance_quantile(laws::FrozenLayer<D>{n, x, d}, share);
            },
            {record("layer", "laws.FrozenLayer"), number("share", 0.5)});
  room.form("two_group_row",
            [](const laws::ScoreGroup<D>& first, const laws::ScoreGroup<D>& second) {
              return laws::two_group_row(first, second);
            },
            {record("first", "laws.ScoreGroup"), record("second", "laws.ScoreGroup")});
  room.form("ssmax_critical_gap", [](D s) { return laws::ssmax_critical_gap(s); }, {scale});
  room.form("softmax_critical_length", [](D x, D g, D w) { return laws::softmax_critical_length(x, g, w); },
            {noise_stddev, gap, weight});
  room.form("ssmax_critical_length", [](D s, D v, D z, D w) { return laws::ssmax_critical_length(s, v, z, w); },
            {scale, variance, number("score"), weight});
}

void bind_needles(Room& room) {
  using Needle = laws::NormalNeedle<D>;
  const auto noise_count = number("noise_count"), gap = number("gap"), noise_stddev = number("noise_stddev");
  const auto span = number("span"), weight = number("weight", 0.5);
  room.form("needle_weight", [](D n, D x, D g) { return laws::needle_weight(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("noise_weight", [](D n, D x, D g) { return laws::noise_weight(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("random_needle_weight",
            [](D n, D x, D g, D s) {
              return laws::random_needle_weight(laws::RandomNeedle<D>{n, x, g, s});
            },
            {record("needle", "laws.RandomNeedle")});
  room.form("needle_weight_annealed", [](D n, D x, D g) { return laws::needle_weight_annealed(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("noise_weight_leading_order", [](D n, D x, D g) { return laws::noise_weight_leading_order(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("needle_weight_quenched", [](D z, D g) { return laws::needle_weight_quenched(z, g); },
            {number("log_partition"), gap});
  room.form("needle_weight_second_order", [](D n, D x, D g) { return laws::needle_weight_second_order(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("needle_weight_log_normal", [](D n, D x, D g) { return laws::needle_weight_log_normal(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("needle_weight_stable", [](D n, D x, D g) { return laws::needle_weight_stable(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("needle_weight_largest", [](D n, D x, D g) { return laws::needle_weight_largest(n, x, g); },
            {noise_count, noise_stddev, gap});
  room.form("uniform_needle_weight", [](D n, D w, D g) { return laws::uniform_needle_weight(n, w, g); },
            {noise_count, span, gap});
  room.form("uniform_noise_weight", [](D n, D w, D g) { return laws::uniform_noise_weight(n, w, g); },
            {noise_count, span, gap});
  room.form("uniform_retrieval_gap", [](D n, D s, D w) { return laws::uniform_retrieval_gap(n, s, w); },
            {noise_count, span, weight});
  room.form(
      "needle_cross_entropy",
      [](D kind, D a, D b, D c, D n, const Needle& needle, D beta) {
        return with_law(kind, a, b, c,
                        [&](const auto& law) { return laws::needle_cross_entropy(law, n, needle, beta); });
      },
      {one_law("competitors"), noise_count, record("needle", "laws.NormalNeedle"), number("inverse_temperature")});
  room.form("optimal_needle_temperature",
            [](D kind, D a, D b, D c, D n, const Needle& needle) {
              return with_law(kind, a, b, c,
                              [&](const auto& law) { return laws::optimal_needle_temperature(law, n, needle); });
            },
            {one_law("competitors"), noise_count, record("needle", "laws.NormalNeedle")});
  room.form("bounded_log_slope", [](const Needle& needle, D edge) { return laws::bounded_log_slope(needle, edge); },
            {record("needle", "laws.NormalNeedle"), number("edge")});
  room.form("retrieval_threshold",
            [](D kind, D a, D b, D c, D n, D beta) {
              return with_law(kind, a, b, c,
                              [&](const auto& law) { return laws::retrieval_threshold<D>(law, n, beta); });
            },
            {one_law("law"), number("row_length"), number("inverse_temperature")});
}

void bind_thresholds(Room& room) {
  const auto row_length = number("row_length"), scale = number("scale"), gap = number("gap");
  const auto weight = number("weight", 0.5), variance = number("variance");
  const auto inverse_temperature = number("inverse_temperature"), exponent_gap = number("exponent_gap");
  room.form("largest_weight_lower_bound", [](D n, D g) { return laws::largest_weight_lower_bound(n, g); },
            {row_length, exponent_gap});
  room.form("largest_weight_upper_bound", [](D n, D g) { return laws::largest_weight_upper_bound(n, g); },
            {row_length, number("exponent_range")});
  room.form("grid_log_sum", [](D n, D b) { return laws::grid_log_sum(n, b); }, {row_length, inverse_temperature});
  room.form("grid_threshold", [](D n, D b) { return laws::grid_threshold(n, b); }, {row_length, inverse_temperature});
  room.form("grid_weight", [](D n, D b, D z) { return laws::grid_weight(n, b, z); },
            {row_length, inverse_temperature, number("z_max")});
  room.form("logistic_width", [](D b) { return laws::logistic_width(b); }, {inverse_temperature});
  room.form("two_level_count", [](D g, D w) { return laws::two_level_count(g, w); }, {exponent_gap, weight});
  room.form("two_level_exponent_gap", [](D n, D w) { return laws::two_level_exponent_gap(n, w); },
            {row_length, weight});
  room.form("ssmax_crossover_count", [](D s, D b) { return laws::ssmax_crossover_count(s, b); },
            {scale, number("bias", 0)});
  room.form("ssmax_two_level_limit", [](D s, D g) { return laws::ssmax_two_level_limit(s, g); }, {scale, gap});
  room.form("ssmax_weakest_count", [](D s, D g) { return laws::ssmax_weakest_count(s, g); }, {scale, gap});
  room.form("ssmax_bounded_threshold",
            [](D n, D s, const laws::BoundedScores<D>& law) { return laws::ssmax_bounded_threshold(n, s, law); },
            {row_length, scale, record("law", "laws.BoundedScores")});
  room.form("entmax_one_hot_gap", [](D a) { return laws::entmax_one_hot_gap(a); }, {number("alpha")});
  room.form("noise_phase", [](D v) { return laws::noise_phase(v); }, {number("noise")});
  room.form("retrieval_boundary", [](D v) { return laws::retrieval_boundary(v); }, {number("noise")});
  room.form("ssmax_gaussian_threshold", [](D n, D s, D v) { return laws::ssmax_gaussian_threshold(n, s, v); },
            {row_length, scale, variance});
  room.form("ssmax_freezing_count", [](D s, D v) { return laws::ssmax_freezing_count(s, v); }, {scale, variance});
  room.form("longest_retrievable_count", [](D z, D v) { return laws::longest_retrievable_count(z, v); },
            {number("score"), variance});
  room.form("retrieval_gap", [](D n, D x, D w) { return laws::retrieval_gap(n, x, w); },
            {number("noise_count"), number("score_stddev"), weight});
  room.form("normsoftmax_needle_height", [](D n) { return laws::normsoftmax_needle_height(n); }, {row_length});
  room.form("two_level_jacobian", [](D n, D w) { return laws::two_level_jacobian(n, w); },
            {row_length, number("weight")});
}

}  // namespace

void bind_laws(nb::module_& core) {
  Room room(core, "laws");
  bind_rows(room);
  bind_needles(room);
  bind_thresholds(room);
  bind_laws_of_maps(room);
  room.module().attr("QuadratureError") =
      nb::exception<numerics::QuadratureError>(room.module(), "QuadratureError", PyExc_ArithmeticError);
}

}  // namespace incontext::python
