#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/classification/sphere_points.hpp"
#include "incontext/simulate/engine/lanes.hpp"

/// Wedges of the sphere: the points on the inner side of two hyperplanes through its center.
namespace incontext::simulate::detail {

/// The angle, in turns, of a unit vector of the first quadrant. The bits must not depend on the arc tangent of a
/// library, so a guess is improved twice by sincos_turns: `off` is the sine of the guess's error, and off + off^3 / 6
/// is the error to third order.
INCONTEXT_HD inline double angle_in_turns(double sine, double cosine) {
  double angle = 0.25 * sine / (sine + cosine);
  for (int step = 0; step < 2; ++step) {
    double s, c;
    elementary::sincos_turns(angle, s, c);
    const double off = sine * c - cosine * s;
    angle += (off + off * off * off / 6) / 6.283185307179586476925;
  }
  return angle < 0 ? 0 : angle > 0.25 ? 0.25 : angle;
}

/// One wedge for each of W trials, in working memory.
template <class T, int W>
struct Wedge {
  LaneArray<T, W> middle;  // the direction of its middle
  LaneArray<T, W> across;  // a direction across, in the plane of the two hyperplanes' normals
  Lanes<T, W>& half_arc;   // half of its arc in that plane, in turns

  INCONTEXT_HD static constexpr std::int64_t rows(int dimension) { return 2 * std::int64_t{dimension} + 1; }
  INCONTEXT_HD Wedge(LaneArray<T, W> scratch, int dimension)
      : middle(scratch.take(dimension)), across(scratch.take(dimension)), half_arc(scratch[0]) {}
};

/// The narrowest wedges between two hyperplanes that bound the cell of a prototype.
template <class T>
struct SphereWedges {
  int dimension;
  int classes;

  INCONTEXT_HD std::int64_t rows() const {
    return Wedge<T, 1>::rows(dimension) + 2 * std::int64_t{classes} + 2 * std::int64_t{classes} * classes;
  }

  /// The wedge that `set` computed last.
  template <int W>
  INCONTEXT_HD Wedge<T, W> wedge(LaneArray<T, W> scratch) const {
    return {scratch, dimension};
  }

  /// Finds for each cell the two sides whose wedge is the narrowest. That is the pair of sides whose normals have the
  /// least cosine; the normals are differences of prototypes, so the cosine follows from three squared distances.
  template <int W>
  INCONTEXT_HD void find(LaneArray<T, W> prototypes, LaneArray<T, W> scratch) const {
    const Cells<W> cells(scratch, *this);
    for (int a = 0; a < classes && !stop_requested(); ++a) {
      for (int b = 0; b < classes; ++b) {
        const std::int64_t pair = std::int64_t{a} * classes + b;
        cells.squares[pair] = T(1e-30);
        for (int i = 0; i < dimension; ++i) {
          const Lanes<T, W> difference =
              prototypes[std::int64_t{a} * dimension + i] - prototypes[std::int64_t{b} * dimension + i];
          add_product(cells.squares[pair], difference, difference);
        }
        cells.closeness[pair] = T(1) / sqrt(cells.squares[pair]);
      }
    }
    for (int c = 0; c < classes && !stop_requested(); ++c) find_sides(cells, c);
  }

  /// Computes the wedge of one trial's class: the sum of the two unit normals is its middle, and their difference is
  /// the direction across.
  template <int W>
  INCONTEXT_HD void set(LaneArray<T, W> prototypes, LaneArray<T, W> scratch, int lane, int c) const {
    if (classes == 2) return set_half_sphere(prototypes, scratch, lane, c);
    const Cells<W> cells(scratch, *this);
    const Wedge<T, W> own = wedge(scratch);
    const int a = static_cast<int>(cells.first_sides[c][lane]);
    const int b = static_cast<int>(cells.second_sides[c][lane]);
    const auto normal = [&](int side, int i) { return difference(prototypes, lane, c, side, i); };
    double square_a = 0, square_b = 0;
    for (int i = 0; i < dimension; ++i) {
      square_a += normal(a, i) * normal(a, i);
      square_b += normal(b, i) * normal(b, i);
    }
    const double scale_a = inverse_root(square_a), scale_b = inverse_root(square_b);
    // Sum and difference are computed in separate loops. In one loop, g++ 12 contracts them to vfmaddsub whatever the
    // flags.
    const auto combine = [&](double sign, LaneArray<T, W> direction) {
      const auto entry = [&](int i) { return normal(b, i) * scale_b + sign * (normal(a, i) * scale_a); };
      double square = 0;
      for (int i = 0; i < dimension; ++i) square += entry(i) * entry(i);
      const double scale = inverse_root(square);
      for (int i = 0; i < dimension; ++i) direction[i][lane] = static_cast<T>(entry(i) * scale);
      return scale;
    };
    const double middle = combine(1, own.middle), across = combine(-1, own.across);
    own.half_arc[lane] = static_cast<T>(angle_in_turns(0.5 / middle, 0.5 / across));
  }

 private:
  /// Arrays about the cells, after the wedge in working memory: the two sides of each cell, and for each pair of
  /// prototypes the squared distance and the inverse of the distance.
  template <int W>
  struct Cells {
    LaneArray<T, W> first_sides, second_sides, squares, closeness;

    INCONTEXT_HD Cells(LaneArray<T, W> scratch, const SphereWedges& wedges)
        : first_sides(scratch.after(Wedge<T, W>::rows(wedges.dimension))),
          second_sides(first_sides.after(wedges.classes)),
          squares(second_sides.after(wedges.classes)),
          closeness(squares.after(std::int64_t{wedges.classes} * wedges.classes)) {}
  };

  template <int W>
  INCONTEXT_HD void find_sides(const Cells<W>& cells, int c) const {
    Lanes<T, W>& __restrict__ first = cells.first_sides[c];
    Lanes<T, W>& __restrict__ second = cells.second_sides[c];
    Lanes<T, W> least(T(4));
    const std::int64_t own = std::int64_t{c} * classes;
    for (int a = 0; a < classes; ++a) {
      for (int b = a + 1; b < classes; ++b) {
        if (a == c || b == c) continue;
        const Lanes<T, W>& __restrict__ ca = cells.squares[own + a];
        const Lanes<T, W>& __restrict__ cb = cells.squares[own + b];
        const Lanes<T, W>& __restrict__ ab = cells.squares[std::int64_t{a} * classes + b];
        const Lanes<T, W>& __restrict__ near_a = cells.closeness[own + a];
        const Lanes<T, W>& __restrict__ near_b = cells.closeness[own + b];
        const T number_a = static_cast<T>(a), number_b = static_cast<T>(b);
        for (int lane = 0; lane < W; ++lane) {
          const T cosine = (ca[lane] + cb[lane] - ab[lane]) * near_a[lane] * near_b[lane];  // twice the cosine
          const bool narrower = cosine < least[lane];
          least[lane] = narrower ? cosine : least[lane];
          first[lane] = narrower ? number_a : first[lane];
          second[lane] = narrower ? number_b : second[lane];
        }
      }
    }
  }

  /// With two classes each cell is half of the sphere, and any plane that contains the normal serves.
  template <int W>
  INCONTEXT_HD void set_half_sphere(LaneArray<T, W> prototypes, LaneArray<T, W> scratch, int lane, int c) const {
    const Wedge<T, W> own = wedge(scratch);
    double square = 0;
    for (int i = 0; i < dimension; ++i) {
      const double x = difference(prototypes, lane, c, 1 - c, i);
      square += x * x;
    }
    const double scale = inverse_root(square);
    int axis = 0;
    double least = 2;
    for (int i = 0; i < dimension; ++i) {
      const double x = difference(prototypes, lane, c, 1 - c, i) * scale, size = x < 0 ? -x : x;
      own.middle[i][lane] = static_cast<T>(x);
      axis = size < least ? i : axis;
      least = size < least ? size : least;
    }
    const double part = difference(prototypes, lane, c, 1 - c, axis) * scale, rest = inverse_root(1 - part * part);
    for (int i = 0; i < dimension; ++i) {
      const double x = difference(prototypes, lane, c, 1 - c, i) * scale;
      own.across[i][lane] = static_cast<T>(((i == axis ? 1.0 : 0.0) - part * x) * rest);
    }
    own.half_arc[lane] = T(0.25);
  }

  template <int W>
  INCONTEXT_HD double difference(LaneArray<T, W> prototypes, int lane, int c, int side, int i) const {
    return static_cast<double>(prototypes[std::int64_t{c} * dimension + i][lane]) -
           static_cast<double>(prototypes[std::int64_t{side} * dimension + i][lane]);
  }

  INCONTEXT_HD static double inverse_root(double square) {
    using std::sqrt;
    return 1.0 / sqrt(square > 1e-60 ? square : 1e-60);
  }
};

/// Draws uniform point number `index` of a wedge. A normal vector, divided by its length, is uniform on the sphere, and
/// the angle of its part in the plane of `middle` and `across` is uniform and independent of everything else. So that
/// angle is replaced by one that is uniform on the arc of the wedge.
template <class T, int W>
INCONTEXT_HD void draw_in_wedge(LaneArray<T, W> point, const random::LaneStream<W>& stream, std::uint32_t index,
                                const Wedge<T, W>& wedge, int dimension) {
  using std::sqrt;
  const std::uint32_t blocks = dimension > 2 ? random::sphere_blocks<T>(dimension) : 0;
  const std::uint32_t first = index * (blocks + 1);
  Lanes<T, W> along(T(0)), across(T(0));
  if (dimension > 2) {
    draw_normals(point, stream, first, dimension);
    along = dot(wedge.middle, point, dimension);
    across = dot(wedge.across, point, dimension);
  }
  Lanes<std::uint32_t, W> words[4];
  stream.words(first + blocks, words);
  for (int lane = 0; lane < W; ++lane) {
    T uniform, sine, cosine;
    if constexpr (sizeof(T) == 4) {
      uniform = random::uniform_open(words[0][lane]);
    } else {
      uniform = random::uniform_open(words[0][lane], words[1][lane]);
    }
    elementary::sincos_turns(wedge.half_arc[lane] * (T(2) * uniform - T(1)), sine, cosine);
    const T radius = dimension > 2 ? sqrt(along[lane] * along[lane] + across[lane] * across[lane]) : T(1);
    along[lane] = radius * cosine - along[lane];
    across[lane] = radius * sine - across[lane];
  }
  for (int i = 0; i < dimension; ++i) {
    if (dimension == 2) point[i] = T(0);
    add_product(point[i], along, wedge.middle[i]);
    add_product(point[i], across, wedge.across[i]);
  }
  normalize(point, dimension);
}

}  // namespace incontext::simulate::detail
