#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_points.hpp"
#include "incontext/simulate/classification/sphere_wedges.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

using random::SphereStream;

/// A context of the sphere task: prototypes uniform on the unit sphere, points labeled by the nearest, a query.
///
/// Points of a class are uniform on its cell, and every context is completed, however small its cells are. A cell is
/// inside the wedge between any two of its bounding hyperplanes; points uniform on the narrowest such wedge are drawn
/// directly, by the angle in its plane. In two dimensions, and for two or three classes, the wedge is the cell and
/// nothing is ever rejected. Otherwise n uniform proposals are given to the classes that are not full; the points still
/// missing are drawn from wedges, and kept if they are in the cell.
///
/// Source    arXiv 2510.10425, App. I (rejection); the wedge is derived: docs/theory/classification.md#drawing-cells.
/// Shapes    elements of a LaneArray: inputs n x d, by class if balanced; query d; label 1; labels n (independent
///           only); prototypes k x d; attempts 1; balanced: working memory of 2 k^2 + O(k + d).
/// Units     unit vectors; labels and attempts are whole numbers, attempts rounded where T does not represent them.
/// Domain    dimension >= 2, classes >= 2, 1 <= context_length <= 2^24; balanced: a multiple of classes.
/// Limits    after most_failures attempts without success the wedge's next point is taken although it is outside of
///           the cell; with the default that concerns cells below about 1e-6 of their wedge.
/// Accuracy  uniform within cells, by z: tests/simulate/classification/sphere_task.cpp. Edges of a cell are exact to
///           rounding.
/// Random    streams of SphereStream; proposal and attempt j read blocks of their own, and attempts past the last block
///           continue in the next part of stream wedges.
/// Runs on   host and device
template <class T>
struct SphereTaskDraw {
  int dimension;
  int classes;
  std::int64_t context_length;
  ContextLaw law;
  std::uint32_t most_failures = 1u << 22;
  std::int64_t prototype_sets = 0;

  INCONTEXT_HD bool is_direct() const { return dimension == 2 || classes <= 3; }
  INCONTEXT_HD std::int64_t class_size() const { return context_length / classes; }

  INCONTEXT_HD std::int64_t query_row() const { return context_length * dimension; }
  INCONTEXT_HD std::int64_t label_row() const { return query_row() + dimension; }
  INCONTEXT_HD std::int64_t labels_row() const { return label_row() + 1; }
  INCONTEXT_HD std::int64_t prototypes_row() const {
    return labels_row() + (law == ContextLaw::independent ? context_length : 0);
  }
  INCONTEXT_HD std::int64_t attempts_row() const { return prototypes_row() + std::int64_t{classes} * dimension; }
  INCONTEXT_HD std::int64_t rows() const {
    return law == ContextLaw::independent ? candidate_row() : counts_row() + classes;
  }

  /// Point j of the context, the query and its class, in a drawn context.
  template <int W>
  INCONTEXT_HD LaneArray<T, W> point(LaneArray<T, W> context, std::int64_t j) const {
    return context.after(j * dimension);
  }
  template <int W>
  INCONTEXT_HD LaneArray<T, W> query(LaneArray<T, W> context) const {
    return context.after(query_row());
  }
  template <int W>
  INCONTEXT_HD Lanes<T, W>& query_label(LaneArray<T, W> context) const {
    return context[label_row()];
  }

  template <int W>
  INCONTEXT_HD void draw(random::Trials<W> trials, LaneArray<T, W> scratch) const {
    detail::draw_prototypes(trials, prototype_sets, prototypes(scratch), classes, dimension);
    scratch[attempts_row()] = static_cast<T>(context_length + 1);
    if (law == ContextLaw::independent) return draw_independently(trials, scratch);
    query_label(scratch) = draw_label(trials);
    wedges().find(prototypes(scratch), scratch.after(wedge_row()));
    if (stop_requested()) return;
    if (is_direct()) return draw_directly(random::LaneStream(trials, SphereStream::wedges), scratch);
    propose(random::LaneStream(trials, SphereStream::proposals), scratch);
    complete(trials, scratch);
  }

 private:
  INCONTEXT_HD std::int64_t candidate_row() const { return attempts_row() + 1; }
  INCONTEXT_HD std::int64_t wedge_row() const { return candidate_row() + dimension; }
  INCONTEXT_HD std::int64_t counts_row() const { return wedge_row() + wedges().rows(); }
  INCONTEXT_HD detail::SphereWedges<T> wedges() const { return {dimension, classes}; }

  template <int W>
  INCONTEXT_HD LaneArray<T, W> prototypes(LaneArray<T, W> scratch) const {
    return scratch.after(prototypes_row());
  }
  template <int W>
  INCONTEXT_HD detail::Wedge<T, W> wedge(LaneArray<T, W> scratch) const {
    return wedges().wedge(scratch.after(wedge_row()));
  }

  /// The progress of W trials: the class that is being filled, the failed attempts at its next point, and all attempts.
  template <int W>
  struct Completion {
    Lanes<int, W> wanted;
    Lanes<std::uint32_t, W> failures;
    Lanes<std::int64_t, W> attempts;
  };

  template <int W>
  INCONTEXT_HD void set_wedge(LaneArray<T, W> scratch, int lane, int c) const {
    wedges().set(prototypes(scratch), scratch.after(wedge_row()), lane, c);
  }

  template <int W>
  INCONTEXT_HD Lanes<T, W> draw_label(random::Trials<W> trials) const {
    Lanes<std::uint32_t, W> words[4];
    random::LaneStream(trials, SphereStream::label).words(0, words);
    return Lanes<T, W>::each([&](int lane) {
      return static_cast<T>(std::uint64_t{words[0][lane]} * static_cast<std::uint64_t>(classes) >> 32);
    });
  }

  template <int W>
  INCONTEXT_HD void draw_independently(random::Trials<W> trials, LaneArray<T, W> scratch) const {
    const random::LaneStream stream(trials, SphereStream::proposals);
    const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
    for (std::int64_t j = 0; j <= context_length && !stop_requested_at(j); ++j) {  // the last is the query
      const auto drawn = point(scratch, j);
      draw_sphere_point(drawn, stream, static_cast<std::uint32_t>(j) * blocks, dimension);
      scratch[j < context_length ? labels_row() + j : label_row()] =
          detail::find_nearest(prototypes(scratch), classes, drawn, dimension);
    }
  }

  template <int W>
  INCONTEXT_HD void draw_directly(const random::LaneStream<W>& stream, LaneArray<T, W> scratch) const {
    std::uint32_t index = 0;
    for (int c = 0; c < classes; ++c) {
      for (int lane = 0; lane < W; ++lane) set_wedge(scratch, lane, c);
      for (std::int64_t j = 0; j < class_size() && !stop_requested_at(j); ++j, ++index) {
        detail::draw_in_wedge(point(scratch, index), stream, index, wedge(scratch), dimension);
      }
    }
    for (int lane = 0; lane < W; ++lane) set_wedge(scratch, lane, static_cast<int>(query_label(scratch)[lane]));
    detail::draw_in_wedge(query(scratch), stream, index, wedge(scratch), dimension);
  }

  /// Draws as many uniform proposals as the context has points. Most of them find a class that is not full.
  template <int W>
  INCONTEXT_HD void propose(const random::LaneStream<W>& stream, LaneArray<T, W> scratch) const {
    const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
    const auto candidate = scratch.after(candidate_row());
    fill(scratch.after(counts_row()), classes, T(0));
    for (std::int64_t j = 0; j < context_length && !stop_requested_at(j); ++j) {
      draw_sphere_point(candidate, stream, static_cast<std::uint32_t>(j) * blocks, dimension);
      const Lanes<T, W> nearest = detail::find_nearest(prototypes(scratch), classes, candidate, dimension);
      for (int lane = 0; lane < W; ++lane) {
        const int c = static_cast<int>(nearest[lane]);
        if (is_missing(scratch, lane, c)) place(scratch, lane, c);
      }
    }
  }

  /// Draws the points that are still missing, class after class; each trial advances at its own pace.
  template <int W>
  INCONTEXT_HD void complete(random::Trials<W> trials, LaneArray<T, W> scratch) const {
    const std::uint32_t stream_attempts = 0xffffffffu / (random::sphere_blocks<T>(dimension) + 1);
    Completion<W> at;
    at.failures = 0;
    at.attempts = context_length + 1;
    int left = 0;
    for (int lane = 0; lane < W; ++lane) {
      left += (at.wanted[lane] = next_class(scratch, lane, 0)) < classes ? 1 : 0;
    }
    for (std::uint32_t part = 0; left > 0 && !stop_requested(); ++part) {
      const random::LaneStream stream(trials, random::StreamTag(SphereStream::wedges).part(part));
      for (std::uint32_t index = 0; left > 0 && index < stream_attempts && !stop_requested(); ++index) {
        left = attempt(stream, index, scratch, at);
      }
    }
    scratch[attempts_row()] = Lanes<T, W>::each([&](int lane) { return static_cast<T>(at.attempts[lane]); });
  }

  /// One attempt of every trial that misses points. Returns how many of them still do.
  template <int W>
  INCONTEXT_HD int attempt(const random::LaneStream<W>& stream, std::uint32_t index, LaneArray<T, W> scratch,
                           Completion<W>& at) const {
    const auto candidate = scratch.after(candidate_row());
    int left = 0;
    detail::draw_in_wedge(candidate, stream, index, wedge(scratch), dimension);
    const Lanes<T, W> nearest = detail::find_nearest(prototypes(scratch), classes, candidate, dimension);
    for (int lane = 0; lane < W; ++lane) {
      const int c = at.wanted[lane];
      if (c == classes) continue;
      ++at.attempts[lane];
      if (static_cast<int>(nearest[lane]) == c || at.failures[lane] == most_failures) {
        at.failures[lane] = 0;
        place(scratch, lane, c);
        if (!is_missing(scratch, lane, c)) at.wanted[lane] = next_class(scratch, lane, c);
      } else {
        ++at.failures[lane];
      }
      left += at.wanted[lane] < classes ? 1 : 0;
    }
    return left;
  }

  /// Finds the next class that is not full and computes its wedge; returns `classes` if there is none.
  template <int W>
  INCONTEXT_HD int next_class(LaneArray<T, W> scratch, int lane, int c) const {
    while (c < classes && !is_missing(scratch, lane, c)) ++c;
    if (c < classes) set_wedge(scratch, lane, c);
    return c;
  }

  /// Whether a class needs another point. It receives its share of the context, and the query's class also the query.
  template <int W>
  INCONTEXT_HD bool is_missing(LaneArray<T, W> scratch, int lane, int c) const {
    const bool own = static_cast<int>(query_label(scratch)[lane]) == c;
    return scratch[counts_row() + c][lane] < static_cast<T>(class_size() + (own ? 1 : 0));
  }

  /// Makes the candidate a point of its class, or the query where the class has all its points.
  template <int W>
  INCONTEXT_HD void place(LaneArray<T, W> scratch, int lane, int c) const {
    T& count = scratch[counts_row() + c][lane];
    const auto slot = static_cast<std::int64_t>(count);
    const auto place = slot < class_size() ? point(scratch, c * class_size() + slot) : query(scratch);
    for (int i = 0; i < dimension; ++i) place[i][lane] = scratch[candidate_row() + i][lane];
    count += T(1);
  }
};

}  // namespace incontext::simulate
