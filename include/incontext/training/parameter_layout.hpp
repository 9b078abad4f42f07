#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::training {

using numerics::Matrix;

/// What a part of the parameters is. Weight decay acts on matrices alone, and gains of layer norms start at 1.
enum class PartKind { matrix, gain, other };

/// Where each part is in the one vector of a transformer's parameters. Parts are stored in the order in which they are
/// added, each by columns. A part that a model does not have has no columns.
///
///     enum class Part { query, bias };
///     training::ParameterLayout<Part> layout;
///     layout.add(Part::query, 0, 8, 8, training::PartKind::matrix);
///     layout.add(Part::bias, 0, 8, 1);
///     std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
///     auto query = layout.part(parameters.data(), Part::query);   // 8 x 8, in place
///
/// Shapes    rows x columns of every part, as added.
/// Errors    none: a part that was not added has the size 0.
template <class Part>
class ParameterLayout {
 public:
  /// One part of one layer.
  struct Place {
    Part part;
    int layer;
    Eigen::Index rows, columns;
    PartKind kind;
    std::ptrdiff_t first, size;
  };

  void add(Part part, int layer, Eigen::Index rows, Eigen::Index columns, PartKind kind = PartKind::other) {
    places_.push_back({part, layer, rows, columns, kind, size(), rows * columns});
  }

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] std::ptrdiff_t size() const { return places_.empty() ? 0 : places_.back().first + places_.back().size; }

  [[nodiscard]] Place place(Part part, int layer = 0) const {
    const auto is_own = [&](const Place& at) { return at.part == part && at.layer == layer; };
    const auto found = std::find_if(places_.begin(), places_.end(), is_own);
    return found == places_.end() ? Place{part, layer, 0, 0, PartKind::other, 0, 0} : *found;
  }

  /// One number per parameter, as training::Trainer takes it: whether weight decay acts.
  [[nodiscard]] std::vector<bool> decays() const {
    std::vector<bool> result;
    for (const Place& at : places_) {
      result.insert(result.end(), static_cast<std::size_t>(at.size), at.kind == PartKind::matrix);
    }
    return result;
  }

  /// A part of a vector of all parameters, as a matrix in place.
  template <Real T>
  [[nodiscard]] Eigen::Map<const Matrix<T>> part(const T* parameters, Part which, int layer = 0) const {
    const Place at = place(which, layer);
    return {parameters + at.first, at.rows, at.columns};
  }
  template <Real T>
  [[nodiscard]] Eigen::Map<Matrix<T>> part(T* parameters, Part which, int layer = 0) const {
    const Place at = place(which, layer);
    return {parameters + at.first, at.rows, at.columns};
  }

 private:
  std::vector<Place> places_;
};

}  // namespace incontext::training
