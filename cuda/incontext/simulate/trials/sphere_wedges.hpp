#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_points.hpp"

/// Wedges of the sphere: what lies on the right side of two hyperplanes through its centre.
namespace incontext::simulate::detail {

/// The angle, in turns, of a unit vector of the first quadrant: two steps of third order on sincos_turns, so that no
/// library's arc tangent shows in the bits.
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

/// The narrowest wedge between two bounding hyperplanes of the cell of a prototype.
///
/// Rows: 0 ... d - 1 the middle of the wedge, d ... 2d - 1 a direction across in the plane of the two normals, 2d half
/// its arc in turns; then the two sides a class, and prototypes' squared distances and what they divide by.
template <class T>
struct SphereWedges {
  int dimension;
  int classes;

  INCONTEXT_HD std::int64_t rows() const { return distances_row() + 2 * std::int64_t{classes} * classes; }

  /// The two sides of each cell whose wedge is the narrowest, from the prototypes' squared distances.
  template <int W>
  INCONTEXT_HD void find(Scratch<T, W> prototypes, Scratch<T, W> scratch) const {
    using std::sqrt;
    const auto squares = scratch.after(distances_row()), inverse = squares.after(std::int64_t{classes} * classes);
    for (int a = 0; a < classes && !stop_requested(); ++a) {
      for (int b = 0; b < classes; ++b) {
        const std::int64_t at = std::int64_t{a} * classes + b;
        T* __restrict__ square = squares.row(at);
        T* __restrict__ closeness = inverse.row(at);
        fill<W>(square, T(1e-30));
        for (int i = 0; i < dimension; ++i) {
          const T* __restrict__ x = prototypes.row(std::int64_t{a} * dimension + i);
          const T* __restrict__ y = prototypes.row(std::int64_t{b} * dimension + i);
          for (int lane = 0; lane < W; ++lane) square[lane] += (x[lane] - y[lane]) * (x[lane] - y[lane]);
        }
        for (int lane = 0; lane < W; ++lane) closeness[lane] = T(1) / sqrt(square[lane]);
      }
    }
    for (int c = 0; c < classes && !stop_requested(); ++c) find_sides<W>(scratch, c);
  }

  /// Works out the wedge of one trial's class.
  template <int W>
  INCONTEXT_HD void set(Scratch<T, W> prototypes, Scratch<T, W> scratch, int lane, int c) const {
    if (classes == 2) return set_half_sphere<W>(prototypes, scratch, lane, c);
    const int a = static_cast<int>(scratch.row(sides_row() + 2 * c)[lane]);
    const int b = static_cast<int>(scratch.row(sides_row() + 2 * c + 1)[lane]);
    const auto normal = [&](int side, int i) { return difference<W>(prototypes, lane, c, side, i); };
    double square_a = 0, square_b = 0;
    for (int i = 0; i < dimension; ++i) {
      square_a += normal(a, i) * normal(a, i);
      square_b += normal(b, i) * normal(b, i);
    }
    const double scale_a = inverse_root(square_a), scale_b = inverse_root(square_b);
    // Sum and difference in loops of their own: side by side, g++ 12 contracts them to vfmaddsub whatever the flags.
    const auto combine = [&](double sign, std::int64_t first) {
      const auto entry = [&](int i) { return normal(b, i) * scale_b + sign * (normal(a, i) * scale_a); };
      double square = 0;
      for (int i = 0; i < dimension; ++i) square += entry(i) * entry(i);
      const double scale = inverse_root(square);
      for (int i = 0; i < dimension; ++i) scratch.row(first + i)[lane] = static_cast<T>(entry(i) * scale);
      return scale;
    };
    const double middle = combine(1, 0), across = combine(-1, dimension);
    scratch.row(2 * std::int64_t{dimension})[lane] = static_cast<T>(angle_in_turns(0.5 / middle, 0.5 / across));
  }

 private:
  INCONTEXT_HD std::int64_t sides_row() const { return 2 * std::int64_t{dimension} + 1; }
  INCONTEXT_HD std::int64_t distances_row() const { return sides_row() + 2 * std::int64_t{classes}; }

  template <int W>
  INCONTEXT_HD void find_sides(Scratch<T, W> scratch, int c) const {
    const auto squares = scratch.after(distances_row()), inverse = squares.after(std::int64_t{classes} * classes);
    T* __restrict__ first = scratch.row(sides_row() + 2 * c);
    T* __restrict__ second = scratch.row(sides_row() + 2 * c + 1);
    alignas(W >= 16 ? 64 : 8) T least[W];
    fill<W>(least, T(4));
    const std::int64_t own = std::int64_t{c} * classes;
    for (int a = 0; a < classes; ++a) {
      for (int b = a + 1; b < classes; ++b) {
        if (a == c || b == c) continue;
        const T* __restrict__ ca = squares.row(own + a), * __restrict__ cb = squares.row(own + b);
        const T* __restrict__ ab = squares.row(std::int64_t{a} * classes + b);
        const T* __restrict__ near_a = inverse.row(own + a), * __restrict__ near_b = inverse.row(own + b);
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

  /// Of two classes each has half of the sphere: any plane through the normal does.
  template <int W>
  INCONTEXT_HD void set_half_sphere(Scratch<T, W> prototypes, Scratch<T, W> scratch, int lane, int c) const {
    double square = 0;
    for (int i = 0; i < dimension; ++i) {
      const double x = difference<W>(prototypes, lane, c, 1 - c, i);
      square += x * x;
    }
    const double scale = inverse_root(square);
    int axis = 0;
    double least = 2;
    for (int i = 0; i < dimension; ++i) {
      const double x = difference<W>(prototypes, lane, c, 1 - c, i) * scale, size = x < 0 ? -x : x;
      scratch.row(i)[lane] = static_cast<T>(x);
      axis = size < least ? i : axis;
      least = size < least ? size : least;
    }
    const double part = difference<W>(prototypes, lane, c, 1 - c, axis) * scale, rest = inverse_root(1 - part * part);
    for (int i = 0; i < dimension; ++i) {
      const double x = difference<W>(prototypes, lane, c, 1 - c, i) * scale;
      scratch.row(dimension + i)[lane] = static_cast<T>(((i == axis ? 1.0 : 0.0) - part * x) * rest);
    }
    scratch.row(2 * std::int64_t{dimension})[lane] = T(0.25);
  }

  template <int W>
  INCONTEXT_HD double difference(Scratch<T, W> prototypes, int lane, int c, int side, int i) const {
    return static_cast<double>(prototypes.row(std::int64_t{c} * dimension + i)[lane]) -
           static_cast<double>(prototypes.row(std::int64_t{side} * dimension + i)[lane]);
  }

  INCONTEXT_HD static double inverse_root(double square) {
    using std::sqrt;
    return 1.0 / sqrt(square > 1e-60 ? square : 1e-60);
  }
};

/// Uniform point number `index` of a wedge: a normal vector whose part in the plane of the sides is turned into the
/// arc.
template <int W, class T>
INCONTEXT_HD void draw_in_wedge(const random::LaneStream<W>& stream, std::uint32_t index, Scratch<T, W> wedge,
                                int dimension, Scratch<T, W> out) {
  using std::sqrt;
  const std::uint32_t blocks = dimension > 2 ? random::sphere_blocks<T>(dimension) : 0;
  const std::uint32_t first = index * (blocks + 1);
  alignas(W >= 16 ? 64 : 4) std::uint32_t words[4][W];
  alignas(W >= 16 ? 64 : 8) T along[W], across[W];
  fill<W>(along, T(0));
  fill<W>(across, T(0));
  if (dimension > 2) {
    draw_normals<W>(stream, first, dimension, out);
    add_dot<W>(along, wedge, out, dimension);
    add_dot<W>(across, wedge.after(dimension), out, dimension);
  }
  stream.words(first + blocks, words);
  const T* half = wedge.row(2 * std::int64_t{dimension});
  for (int lane = 0; lane < W; ++lane) {
    T uniform, sine, cosine;
    if constexpr (sizeof(T) == 4) {
      uniform = random::uniform_open(words[0][lane]);
    } else {
      uniform = random::uniform_open(words[0][lane], words[1][lane]);
    }
    elementary::sincos_turns(half[lane] * (T(2) * uniform - T(1)), sine, cosine);
    const T radius = dimension > 2 ? sqrt(along[lane] * along[lane] + across[lane] * across[lane]) : T(1);
    along[lane] = radius * cosine - along[lane];
    across[lane] = radius * sine - across[lane];
  }
  for (int i = 0; i < dimension; ++i) {
    if (dimension == 2) fill<W>(out.row(i), T(0));
    add_product<W>(out.row(i), along, wedge.row(i));
    add_product<W>(out.row(i), across, wedge.row(dimension + i));
  }
  normalise<W>(out, dimension);
}

}  // namespace incontext::simulate::detail
