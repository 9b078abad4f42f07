#include <nanobind/eigen/dense.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "core.hpp"
#include "incontext/classification/any_kernel.hpp"
#include "incontext/classification/context.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/scoring.hpp"
#include "records.hpp"
#include "rooms.hpp"

/// Attention whose weights depend on more than a row of scores: on queries and keys by a kernel, or on a whole matrix.
namespace incontext::python {

namespace {

using D = double;
using I = std::ptrdiff_t;
using namespace nb::literals;
/// By rows, as NumPy has them.
using Rows = Eigen::Matrix<D, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Point = classification::Vector<D>;

/// A kernel of one's own, of which only values are known.
struct CallableKernel {
  using value_type = D;
  static constexpr bool logarithmic = false;
  nb::handle owner = {};

  D operator()(const Point& u, const Point& v) const {
    return real_number("scoring::KernelAttention", "the value of kernel", owner(u, v));
  }
  D score(scoring::Row<const D> q, scoring::Row<const D> k) const { return (*this)(copied(q), copied(k)); }
  D jvp(scoring::Row<const D>, scoring::Row<const D>, scoring::Row<const D>, scoring::Row<const D>) const { refuse(); }
  void vjp(scoring::Row<const D>, scoring::Row<const D>, D, scoring::Row<D>, scoring::Row<D>) const { refuse(); }

 private:
  static Point copied(scoring::Row<const D> row) { return Eigen::Map<const Point>(row.data, row.size); }
  [[noreturn]] static void refuse() {
    throw nb::type_error("incontext.scoring.KernelAttention: a kernel that is a function of Python has no derivatives");
  }
};

/// Calls `function` with the C++ kernel that a Python object stands for.
template <class Function>
auto with_kernel(nb::handle kernel, const Function& function) {
  const auto number = [&](const char* name) { return real_field(kernel, name); };
  if (is(kernel, "scoring.DotKernel")) return function(scoring::DotKernel<D>{number("temperature")});
  if (is(kernel, "scoring.ExponentialKernel")) return function(scoring::ExponentialKernel<D>{number("temperature")});
  if (is(kernel, "scoring.GaussianKernel")) return function(scoring::GaussianKernel<D>{number("bandwidth")});
  if (is(kernel, "scoring.PolynomialKernel")) {
    return function(
        scoring::PolynomialKernel<D>{whole_field<int>(kernel, "degree"), number("scale"), number("offset")});
  }
  if (is(kernel, "scoring.EluKernel")) return function(scoring::EluKernel<D>{});
  if (is(kernel, "scoring.CosformerKernel")) return function(scoring::CosformerKernel<D>{number("reach")});
  return function(CallableKernel{kernel});
}

/// Calls `function` with a kernel attention, query by query with the keys that it sees.
template <class Function>
void for_each_query(nb::handle map, const Rows& queries, const Rows& keys, scoring::Visibility visibility,
                    const Function& function) {
  constexpr auto where = "scoring::KernelAttention";
  require_same_size(where, "numbers of a key", keys.cols(), queries.cols());
  require_at_least(where, "number of keys", keys.rows(), I{1});
  with_kernel(map.attr("kernel"), [&]<class Kernel>(const Kernel& kernel) {
    const scoring::KernelAttention<Kernel> attention{
        kernel, chosen_field<scoring::KernelNormalization>(map, "normalization"), real_field(map, "floor")};
    for (I i = 0; i < queries.rows(); ++i) {
      const I seen = scoring::visible_keys(visibility, i, queries.rows(), keys.rows());
      const I position = scoring::query_position(visibility, i, queries.rows(), keys.rows());
      function(attention, i, position, scoring::Row<const D>(queries.row(i).data(), queries.cols()),
               scoring::MatrixView<const D>(keys.data(), seen, keys.cols()));
    }
  });
}

scoring::Row<D> row_of(Rows& matrix, I i, I size) { return {matrix.row(i).data(), size}; }
scoring::Row<const D> row_of(const Rows& matrix, I i, I size) { return {matrix.row(i).data(), size}; }

Rows kernel_weights(nb::handle map, const Rows& queries, const Rows& keys, scoring::Visibility visibility) {
  Rows out = Rows::Zero(queries.rows(), keys.rows());
  for_each_query(map, queries, keys, visibility, [&](const auto& attention, I i, I position, auto query, auto seen) {
    scoring::weights(attention, query, seen, row_of(out, i, seen.rows), position);
  });
  return out;
}

Rows kernel_jvp(nb::handle map, const Rows& queries, const Rows& keys, const Rows& query_direction,
                const Rows& key_direction, scoring::Visibility visibility) {
  require_same_size("scoring::jvp", "query_direction's rows", query_direction.rows(), queries.rows());
  require_same_size("scoring::jvp", "query_direction's columns", query_direction.cols(), queries.cols());
  require_same_size("scoring::jvp", "key_direction's rows", key_direction.rows(), keys.rows());
  require_same_size("scoring::jvp", "key_direction's columns", key_direction.cols(), keys.cols());
  Rows out = Rows::Zero(queries.rows(), keys.rows());
  for_each_query(map, queries, keys, visibility, [&](const auto& attention, I i, I position, auto query, auto seen) {
    scoring::jvp(attention, query, seen, row_of(query_direction, i, query.size),
                 scoring::MatrixView<const D>(key_direction.data(), seen.rows, seen.columns), row_of(out, i, seen.rows),
                 position);
  });
  return out;
}

/// The gradients by queries and keys.
std::pair<Rows, Rows> kernel_vjp(nb::handle map, const Rows& queries, const Rows& keys, const Rows& cotangent,
                                 scoring::Visibility visibility) {
  require_same_size("scoring::vjp", "cotangent's rows", cotangent.rows(), queries.rows());
  require_same_size("scoring::vjp", "cotangent's columns", cotangent.cols(), keys.rows());
  Rows by_queries = Rows::Zero(queries.rows(), queries.cols()), by_keys = Rows::Zero(keys.rows(), keys.cols());
  Rows one(keys.rows(), keys.cols());
  for_each_query(map, queries, keys, visibility, [&](const auto& attention, I i, I position, auto query, auto seen) {
    scoring::vjp(attention, query, seen, row_of(cotangent, i, seen.rows), row_of(by_queries, i, query.size),
                 scoring::MatrixView<D>(one.data(), seen.rows, seen.columns), position);
    by_keys.topRows(seen.rows) += one.topRows(seen.rows);
  });
  return {by_queries, by_keys};
}

void bind_kernels(nb::module_& m) {
  m.def("_kernel_weights", &kernel_weights, "map"_a, "queries"_a, "keys"_a, "visibility"_a,
        "The weights of queries x keys.");
  m.def("_kernel_jvp", &kernel_jvp, "map"_a, "queries"_a, "keys"_a, "query_direction"_a, "key_direction"_a,
        "visibility"_a, "The change of the weights along a change of queries and keys.");
  m.def("_kernel_vjp", &kernel_vjp, "map"_a, "queries"_a, "keys"_a, "cotangent"_a, "visibility"_a,
        "The gradients by queries and keys.");
  m.def(
      "_kernel_value",
      [](nb::handle kernel, const Point& u, const Point& v) {
        require_same_size("scoring::Kernel", "numbers of a key", v.size(), u.size());
        return with_kernel(kernel, [&]<class Kernel>(const Kernel& one) {
          const scoring::Row<const D> q(u.data(), u.size()), k(v.data(), v.size());
          if constexpr (requires { one.at(0, 0); }) {
            return one.at(0, 0).score(q, k);
          } else {
            const D score = one.score(q, k);
            return Kernel::logarithmic ? std::exp(score) : score;
          }
        });
      },
      "kernel"_a, "query"_a, "key"_a, "The kernel of two points; of cosFormer's, at the same position.");
}

/// NormSoftmax with one divisor for a matrix.
void bind_matrix_map(nb::module_& m) {
  using Map = scoring::MatrixNormSoftmax<D>;
  using In = scoring::MatrixView<const D>;
  using Out = scoring::MatrixView<D>;
  // A function of the map, the scores, another matrix of their size, which not all need, and the result.
  const auto bind = [&m](const char* name, auto function, const char* doc) {
    const auto call = [function](nb::handle map, const Rows& scores, const Rows& other) {
      const Map one{real_field(map, "temperature"), chosen_field<scoring::ScoreScale>(map, "scale")};
      scoring::require_valid(one);
      require_same_size("scoring::MatrixNormSoftmax", "the other matrix", other.size(), scores.size());
      const auto view = [](const Rows& matrix) { return In(matrix.data(), matrix.rows(), matrix.cols()); };
      Rows out(scores.rows(), scores.cols());
      function(one, view(scores), view(other), Out(out.data(), out.rows(), out.cols()));
      return out;
    };
    m.def(name, call, "map"_a, "scores"_a, "other"_a, doc);
  };
  bind(
      "_matrix_normsoftmax_weights",
      [](const Map& map, const In& scores, const In&, const Out& out) { scoring::weights(map, scores, out); },
      "The weights of a matrix.");
  bind(
      "_matrix_normsoftmax_log_weights",
      [](const Map& map, const In& scores, const In&, const Out& out) { scoring::log_weights(map, scores, out); },
      "The logarithms of the weights of a matrix.");
  bind(
      "_matrix_normsoftmax_derivative",
      [](const Map& map, const In& scores, const In&, const Out& out) {
        scoring::derivative(map, scoring::parameter::Temperature{}, scores, out);
      },
      "The derivative of the weights of a matrix by the temperature.");
  bind(
      "_matrix_normsoftmax_jvp",
      [](const Map& map, const In& scores, const In& direction, const Out& out) {
        scoring::jvp(map, scores, direction, out);
      },
      "The change of the weights along a change of the scores.");
  bind(
      "_matrix_normsoftmax_vjp",
      [](const Map& map, const In& scores, const In& cotangent, const Out& out) {
        scoring::vjp(map, scores, cotangent, out);
      },
      "The gradient of a linear function of the weights.");
}

void bind_kernels_of_contexts(Room& room) {
  nb::module_& m = room.module();
  m.def(
      "gram_matrix",
      [](const DenseMatrix& points, const nb::callable& kernel) {
        return classification::gram_matrix<D>(points.value, CallableKernel{kernel});
      },
      "points"_a, "kernel"_a, room.docs("gram_matrix"));
  m.def(
      "kernel_logits",
      [](const classification::Context<D>& context, const nb::callable& kernel, D learning_rate) {
        return classification::kernel_logits<D>(context, CallableKernel{kernel}, learning_rate);
      },
      "context"_a, "kernel"_a, "learning_rate"_a, room.docs("kernel_logits"));
  m.def(
      "feature_context",
      [](const classification::Context<D>& context, const nb::callable& features) {
        return classification::feature_context<D>(
            context, [&](const Point& u) { return nb::cast<DenseVector>(features(u)).value; });
      },
      "context"_a, "features"_a, room.docs("feature_context"));
  m.def(
      "kernel_attention_logits",
      [](const classification::ContextWeights<D>& weights, const nb::callable& kernel,
         const classification::Context<D>& context) {
        return classification::kernel_attention_logits<D>(weights, CallableKernel{kernel}, context);
      },
      "weights"_a, "kernel"_a, "context"_a, room.docs("kernel_attention_logits"));
}

}  // namespace

void bind_kernel_attention(nb::module_& core) {
  Room scoring_room(core, "scoring");
  bind_kernels(scoring_room.module());
  bind_matrix_map(scoring_room.module());
  Room contexts(core, "classification");
  bind_kernels_of_contexts(contexts);
}

}  // namespace incontext::python
