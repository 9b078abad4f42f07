#pragma once

#include <ATen/ExpandUtils.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/util/Type.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/scoring/hessian_product.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

/// Tensors as rows for the scoring maps: what torch.hpp computes, apart from torch's differentiation.
namespace incontext::adapters::detail {

using at::Tensor;

inline constexpr std::string_view where = "adapters::weights";

template <class>
using TensorFor = Tensor;

template <class Map>
using ScalarOf = typename Map::value_type;

template <class T>
void require_plain(const std::string& name, const Tensor& tensor) {
  constexpr at::ScalarType needed = c10::CppTypeToScalarType<T>::value;
  if (!tensor.defined()) throw_invalid_argument(where, name + " are not defined", "none", "a tensor");
  if (!tensor.device().is_cpu())
    throw_invalid_argument(where, name + " are not on the CPU", tensor.device().str(), "cpu");
  if (tensor.layout() != at::kStrided)
    throw_invalid_argument(where, name + " are not dense", c10::str(tensor.layout()), "Strided");
  if (tensor.scalar_type() != needed) {
    throw_invalid_argument(where, name + " have another type than the map", c10::toString(tensor.scalar_type()),
                           c10::toString(needed));
  }
}

template <class T>
void require_scores(const Tensor& scores) {
  require_plain<T>("scores", scores);
  require_at_least(where, "number of dimensions of scores", scores.dim(), std::int64_t{1});
  require_at_least(where, "last dimension of scores", scores.size(-1), std::int64_t{1});
}

/// `value` broadcast to one number per row, as a view: torch itself sums the gradients of the rows back into the shape
/// of `value`.
template <class Parameter, class T>
Tensor one_a_row(const Tensor& scores, const Tensor& value) {
  const std::string name = std::string("values of ") + c10::demangle_type<Parameter>();
  require_plain<T>(name, value);
  std::vector<std::int64_t> shape = scores.sizes().vec();
  shape.back() = 1;
  if (!at::is_expandable_to(value.sizes(), shape)) {
    throw_invalid_argument(where, name + " have the wrong shape", c10::str(value.sizes()),
                           "what broadcasts to the scores' with 1 in the last place");
  }
  return value.expand(shape);
}

/// The tensor with its rows one after the other in memory.
inline Tensor in_rows(const Tensor& tensor) { return tensor.resolve_neg().contiguous(); }

/// The map of each row: `map`, with those parameters that are tensors set to the values of that row.
template <class Map, class... Parameters>
class MapOfRow {
 public:
  using T = ScalarOf<Map>;

  MapOfRow(const Map& map, const TensorFor<Parameters>&... values) : map_(map), values_{in_rows(values)...} {
    std::transform(values_.begin(), values_.end(), data_.begin(), [](const Tensor& v) { return v.data_ptr<T>(); });
  }

  Map operator()([[maybe_unused]] std::int64_t row) const {
    Map own = map_;
    std::size_t k = 0;
    ((Parameters::of(own) = data_[k++][row]), ...);
    return own;
  }

 private:
  Map map_;
  std::array<Tensor, sizeof...(Parameters)> values_;  // what data_ points into
  std::array<const T*, sizeof...(Parameters)> data_;
};

/// A contiguous tensor as rows of the last dimension.
template <class T>
struct Rows {
  T* data;
  std::int64_t count;
  std::int64_t length;

  explicit Rows(const Tensor& tensor)
      : data(tensor.data_ptr<std::remove_const_t<T>>()),
        count(tensor.numel() / tensor.size(-1)),
        length(tensor.size(-1)) {}
  scoring::Row<T> operator[](std::int64_t i) const { return {data + i * length, length}; }
};

/// The fewest scores per thread: as many as in torch's own elementwise kernels.
inline constexpr std::int64_t grain_size = 32768;

/// Calls visit(first, last) on ranges of rows, in parallel where torch and the compiler's OpenMP allow.
template <class T, class Visit>
void for_row_ranges(const Rows<T>& rows, const Visit& visit) {
  const std::int64_t grain = (std::max<std::int64_t>)(1, grain_size / rows.length);
  at::parallel_for(0, rows.count, grain, visit);
}

/// A tensor of the first input's shape, row by row: compute(map of the row, row of each input..., row to write).
template <class Map, class... Parameters, class Compute, class... Inputs>
Tensor for_each_row(const MapOfRow<Map, Parameters...>& map, const Compute& compute, const Inputs&... inputs) {
  using T = ScalarOf<Map>;
  const std::array<Tensor, sizeof...(Inputs)> in{in_rows(inputs)...};
  const Tensor out = at::empty(in[0].sizes(), in[0].options());
  const Rows<T> to(out);
  const auto with = [&]<class... In>(const In&... from) {
    for_row_ranges(to, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) compute(map(i), from[i]..., to[i]);
    });
  };
  std::apply([&](const auto&... tensors) { with(Rows<const T>(tensors)...); }, in);
  return out;
}

template <class Map, class... Parameters>
Tensor weights_of_rows(const MapOfRow<Map, Parameters...>& map, const Tensor& scores) {
  return for_each_row(
      map, [](const Map& of, auto z, auto out) { weights(of, z, out); }, scores);
}

template <class Map, class... Parameters>
Tensor change_along(const MapOfRow<Map, Parameters...>& map, const Tensor& scores, const Tensor& direction) {
  return for_each_row(
      map, [](const Map& of, auto z, auto u, auto out) { jvp(of, z, u, out); }, scores, direction);
}

template <class Map, class... Parameters>
Tensor gradient_by_scores(const MapOfRow<Map, Parameters...>& map, const Tensor& scores, const Tensor& cotangent) {
  return for_each_row(
      map, [](const Map& of, auto z, auto g, auto out) { vjp(of, z, g, out); }, scores, cotangent);
}

template <class Map, class... Parameters>
Tensor hessian_times(const MapOfRow<Map, Parameters...>& map, const Tensor& scores, const Tensor& cotangent,
                     const Tensor& direction) {
  const auto product = [](const Map& of, auto z, auto g, auto u, auto out) {
    scoring::hessian_product(of, z, g, u, out);
  };
  return for_each_row(map, product, scores, cotangent, direction);
}

/// sum_j g_j d a_j / d parameter, one number per row.
template <class Parameter, class Map, class... Parameters>
Tensor gradient_by(Parameter parameter, const MapOfRow<Map, Parameters...>& map, const Tensor& scores,
                   const Tensor& cotangent) {
  using T = ScalarOf<Map>;
  const Tensor in = in_rows(scores);
  const Tensor from_above = in_rows(cotangent);
  std::vector<std::int64_t> shape = scores.sizes().vec();
  shape.back() = 1;
  const Tensor out = at::empty(shape, in.options());
  const Rows<const T> z(in);
  const Rows<const T> g(from_above);
  T* const to = out.data_ptr<T>();
  for_row_ranges(z, [&](std::int64_t first, std::int64_t last) {
    std::vector<T> change(static_cast<std::size_t>(z.length));
    for (std::int64_t i = first; i < last; ++i) {
      if constexpr (requires { derivative_along(map(i), parameter, z[i], g[i], scoring::Row<T>(change)); }) {
        to[i] = derivative_along(map(i), parameter, z[i], g[i], scoring::Row<T>(change));
        continue;
      }
      derivative(map(i), parameter, z[i], scoring::Row<T>(change));
      double sum = 0;
      for (std::size_t j = 0; j < change.size(); ++j) {
        sum += static_cast<double>(g[i][static_cast<std::ptrdiff_t>(j)]) * static_cast<double>(change[j]);
      }
      to[i] = static_cast<T>(sum);
    }
  });
  return out;
}

}  // namespace incontext::adapters::detail
