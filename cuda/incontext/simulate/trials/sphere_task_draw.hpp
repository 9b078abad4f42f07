#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/sphere_points.hpp"
#include "incontext/simulate/trials/sphere_wedges.hpp"
#include "incontext/simulate/types/sphere_task.hpp"

namespace incontext::simulate {

/// Streams of the sphere task. Part of the reproducibility contract.
///
/// Runs on   host and device
enum class SphereStream : std::uint32_t { prototypes = 56, label = 57, proposals = 58, wedges = 59 };

/// A context of the sphere task: prototypes uniform on the unit sphere, points labelled by the nearest, a query.
///
/// Points of a class are uniform on its cell, and no context is given up because a cell is small. A cell lies in the
/// wedge between any two of its bounding hyperplanes; points uniform on the narrowest such wedge are drawn directly, by
/// the angle in its plane. In two dimensions, and for two or three classes, the wedge is the cell and nothing is ever
/// rejected. Otherwise n uniform proposals serve whatever class is not full, and what is then missing comes from
/// wedges, kept where it falls into the cell.
///
/// Source    arXiv 2510.10425, App. I (rejection); the wedge is derived: docs/theory/classification.md#drawing-cells.
/// Shapes    rows of a Scratch: inputs n x d, by class if balanced; query d; label 1; labels n (independent only);
///           prototypes k x d; attempts 1; balanced: working memory of 2 k^2 + O(k + d).
/// Units     unit vectors; labels and attempts are whole numbers, attempts above T's last exact one rounded.
/// Domain    dimension >= 2, classes >= 2, 1 <= context_length <= 2^24; balanced: a multiple of classes.
/// Limits    a point that most_failures attempts missed is the wedge's next as it is, each point by itself: by the
///           default cells below about 1e-6 of their wedge.
/// Accuracy  uniform within cells, by z: tests/simulate/sphere_task.cpp. Edges of a cell are exact to rounding.
/// Random    streams of SphereStream; proposal and attempt j read blocks of their own, attempts past the last block go
///           on in stream wedges + 256 and so forth.
/// Runs on   host and device
template <class T>
struct SphereTaskDraw {
  int dimension;
  int classes;
  std::int64_t context_length;
  ContextLaw law;
  std::uint32_t most_failures = 1u << 22;

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

  template <int W>
  INCONTEXT_HD void draw(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch) const {
    draw_prototypes<W>(seed, first_trial, scratch.after(prototypes_row()));
    detail::fill<W>(scratch.row(attempts_row()), static_cast<T>(context_length + 1));
    if (law == ContextLaw::independent) return draw_independently<W>(seed, first_trial, scratch);
    draw_label<W>(seed, first_trial, scratch.row(label_row()));
    wedges().template find<W>(scratch.after(prototypes_row()), scratch.after(wedge_row()));
    if (stop_requested()) return;
    if (is_direct()) return draw_directly<W>(wedge_stream<W>(seed, first_trial, 0), scratch);
    propose<W>({seed, first_trial, static_cast<std::uint32_t>(SphereStream::proposals)}, scratch);
    complete<W>(seed, first_trial, scratch);
  }

 private:
  INCONTEXT_HD std::int64_t candidate_row() const { return attempts_row() + 1; }
  INCONTEXT_HD std::int64_t wedge_row() const { return candidate_row() + dimension; }
  INCONTEXT_HD std::int64_t counts_row() const { return wedge_row() + wedges().rows(); }
  INCONTEXT_HD detail::SphereWedges<T> wedges() const { return {dimension, classes}; }

  /// Where W trials are: the class that is filled, the attempts its next point has missed, and all attempts.
  template <int W>
  struct Completion {
    int wanted[W];
    std::uint32_t failures[W];
    std::int64_t attempts[W];
  };

  template <int W>
  INCONTEXT_HD static random::LaneStream<W> wedge_stream(std::uint64_t seed, std::uint64_t first_trial,
                                                         std::uint32_t part) {
    return {seed, first_trial, static_cast<std::uint32_t>(SphereStream::wedges) + (part << 8)};
  }

  template <int W>
  INCONTEXT_HD void set_wedge(detail::Scratch<T, W> scratch, int lane, int c) const {
    wedges().template set<W>(scratch.after(prototypes_row()), scratch.after(wedge_row()), lane, c);
  }

  template <int W>
  INCONTEXT_HD void draw_prototypes(std::uint64_t seed, std::uint64_t first_trial,
                                    detail::Scratch<T, W> prototypes) const {
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(SphereStream::prototypes));
    const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
    for (int c = 0; c < classes && !stop_requested(); ++c) {
      const auto prototype = prototypes.after(std::int64_t{c} * dimension);
      random::sphere_point(stream, static_cast<std::uint32_t>(c) * blocks, dimension, prototype.base, prototype.stride);
    }
  }

  template <int W>
  INCONTEXT_HD void draw_label(std::uint64_t seed, std::uint64_t first_trial, T* label) const {
    alignas(W >= 16 ? 64 : 4) std::uint32_t words[4][W];
    random::LaneStream<W>(seed, first_trial, static_cast<std::uint32_t>(SphereStream::label)).words(0, words);
    for (int lane = 0; lane < W; ++lane) {
      const std::uint64_t product = std::uint64_t{words[0][lane]} * static_cast<std::uint64_t>(classes);
      label[lane] = static_cast<T>(static_cast<std::int32_t>(product >> 32));
    }
  }

  template <int W>
  INCONTEXT_HD void draw_independently(std::uint64_t seed, std::uint64_t first_trial,
                                       detail::Scratch<T, W> scratch) const {
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(SphereStream::proposals));
    const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
    for (std::int64_t j = 0; j <= context_length && !stop_requested(); ++j) {  // the last is the query
      const auto point = scratch.after(j * dimension);
      random::sphere_point(stream, static_cast<std::uint32_t>(j) * blocks, dimension, point.base, point.stride);
      T* label = scratch.row(j < context_length ? labels_row() + j : label_row());
      detail::find_nearest<W>(scratch.after(prototypes_row()), classes, point, dimension, label);
    }
  }

  template <int W>
  INCONTEXT_HD void draw_directly(const random::LaneStream<W>& stream, detail::Scratch<T, W> scratch) const {
    const auto wedge = scratch.after(wedge_row());
    std::uint32_t index = 0;
    for (int c = 0; c < classes; ++c) {
      for (int lane = 0; lane < W; ++lane) set_wedge<W>(scratch, lane, c);
      for (std::int64_t j = 0; j < class_size() && !stop_requested(); ++j, ++index) {
        detail::draw_in_wedge<W>(stream, index, wedge, dimension, scratch.after(std::int64_t{index} * dimension));
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      set_wedge<W>(scratch, lane, static_cast<int>(scratch.row(label_row())[lane]));
    }
    detail::draw_in_wedge<W>(stream, index, wedge, dimension, scratch.after(query_row()));
  }

  /// Uniform proposals, as many as the context has points: most find a class that is not full.
  template <int W>
  INCONTEXT_HD void propose(const random::LaneStream<W>& stream, detail::Scratch<T, W> scratch) const {
    const std::uint32_t blocks = random::sphere_blocks<T>(dimension);
    const auto candidate = scratch.after(candidate_row());
    alignas(W >= 16 ? 64 : 8) T nearest[W];
    for (int c = 0; c < classes; ++c) detail::fill<W>(scratch.row(counts_row() + c), T(0));
    for (std::int64_t j = 0; j < context_length && !stop_requested(); ++j) {
      random::sphere_point(stream, static_cast<std::uint32_t>(j) * blocks, dimension, candidate.base, candidate.stride);
      detail::find_nearest<W>(scratch.after(prototypes_row()), classes, candidate, dimension, nearest);
      for (int lane = 0; lane < W; ++lane) {
        const int c = static_cast<int>(nearest[lane]);
        if (is_missing<W>(scratch, lane, c)) place<W>(scratch, lane, c);
      }
    }
  }

  /// What is missing, class after class, each trial at its own pace.
  template <int W>
  INCONTEXT_HD void complete(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch) const {
    const std::uint32_t stream_attempts = 0xffffffffu / (random::sphere_blocks<T>(dimension) + 1);
    Completion<W> at;
    int left = 0;
    for (int lane = 0; lane < W; ++lane) {
      at.failures[lane] = 0;
      at.attempts[lane] = context_length + 1;
      left += (at.wanted[lane] = next_class<W>(scratch, lane, 0)) < classes ? 1 : 0;
    }
    for (std::uint32_t part = 0; left > 0 && !stop_requested(); ++part) {
      const auto stream = wedge_stream<W>(seed, first_trial, part);
      for (std::uint32_t index = 0; left > 0 && index < stream_attempts && !stop_requested(); ++index) {
        left = attempt<W>(stream, index, scratch, at);
      }
    }
    T* attempts = scratch.row(attempts_row());
    for (int lane = 0; lane < W; ++lane) attempts[lane] = static_cast<T>(at.attempts[lane]);
  }

  /// One attempt of every trial that misses points; how many of them still do.
  template <int W>
  INCONTEXT_HD int attempt(const random::LaneStream<W>& stream, std::uint32_t index, detail::Scratch<T, W> scratch,
                           Completion<W>& at) const {
    const auto candidate = scratch.after(candidate_row());
    alignas(W >= 16 ? 64 : 8) T nearest[W];
    int left = 0;
    detail::draw_in_wedge<W>(stream, index, scratch.after(wedge_row()), dimension, candidate);
    detail::find_nearest<W>(scratch.after(prototypes_row()), classes, candidate, dimension, nearest);
    for (int lane = 0; lane < W; ++lane) {
      const int c = at.wanted[lane];
      if (c == classes) continue;
      ++at.attempts[lane];
      if (static_cast<int>(nearest[lane]) == c || at.failures[lane] == most_failures) {
        at.failures[lane] = 0;
        place<W>(scratch, lane, c);
        if (!is_missing<W>(scratch, lane, c)) at.wanted[lane] = next_class<W>(scratch, lane, c);
      } else {
        ++at.failures[lane];
      }
      left += at.wanted[lane] < classes ? 1 : 0;
    }
    return left;
  }

  /// The next class that is not full, its wedge worked out; `classes` if there is none.
  template <int W>
  INCONTEXT_HD int next_class(detail::Scratch<T, W> scratch, int lane, int c) const {
    while (c < classes && !is_missing<W>(scratch, lane, c)) ++c;
    if (c < classes) set_wedge<W>(scratch, lane, c);
    return c;
  }

  /// A class takes its share of the context, and the query's one more.
  template <int W>
  INCONTEXT_HD bool is_missing(detail::Scratch<T, W> scratch, int lane, int c) const {
    const bool own = static_cast<int>(scratch.row(label_row())[lane]) == c;
    return scratch.row(counts_row() + c)[lane] < static_cast<T>(class_size() + (own ? 1 : 0));
  }

  template <int W>
  INCONTEXT_HD void place(detail::Scratch<T, W> scratch, int lane, int c) const {
    T* count = scratch.row(counts_row() + c) + lane;
    const auto slot = static_cast<std::int64_t>(*count);
    const std::int64_t row = slot < class_size() ? (c * class_size() + slot) * dimension : query_row();
    for (int i = 0; i < dimension; ++i) scratch.row(row + i)[lane] = scratch.row(candidate_row() + i)[lane];
    *count += T(1);
  }
};

}  // namespace incontext::simulate
