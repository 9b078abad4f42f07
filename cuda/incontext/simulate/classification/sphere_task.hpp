#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/sphere_task_draw.hpp"

/// The sphere task of in-context classification: its checks, and the drawing of one context.
namespace incontext::simulate {

/// Refuses a task that cannot be drawn.
///
/// Errors    std::invalid_argument for a field outside its range; the message names the field.
inline void validate(const SphereTask& task, std::string_view where = "simulate::SphereTask") {
  require_at_least(where, "dimension", task.dimension, std::int64_t{2});
  require_at_least(where, "classes", task.classes, std::int64_t{2});
  require_at_least(where, "context_length", task.context_length, task.classes);
  require_at_least(where, "prototype_sets", task.prototype_sets, std::int64_t{0});
  if (task.law == ContextLaw::balanced && task.context_length % task.classes != 0) {
    throw_invalid_argument(where, "context_length is no multiple of the number of classes", task.context_length,
                           "a multiple of " + std::to_string(task.classes));
  }
  if (task.law == ContextLaw::balanced && task.classes > 512) {
    throw_invalid_argument(where, "classes is too large for a balanced context", task.classes, "at most 512");
  }
  // Counts are kept in float, blocks of a stream in 32 bits.
  if (task.context_length > 16777216) {
    throw_invalid_argument(where, "context_length is too large", task.context_length, "at most 16777216");
  }
  if (task.dimension > 1000000 / task.classes) {
    throw_invalid_argument(where, "dimension is too large for the classes", task.dimension,
                           "classes x dimension <= 1e6");
  }
  if (task.dimension + 4 > 4000000000 / (task.context_length + 1)) {
    throw_invalid_argument(where, "context_length is too large for the dimension", task.context_length,
                           "(context_length + 1) x (dimension + 4) <= 4e9");
  }
}

namespace detail {

template <class T>
SphereTaskDraw<T> draw_of(const SphereTask& task) {
  SphereTaskDraw<T> draw{static_cast<int>(task.dimension), static_cast<int>(task.classes), task.context_length,
                         task.law};
  draw.prototype_sets = task.prototype_sets;
  return draw;
}

}  // namespace detail

/// The context of one trial, to be looked at or tested.
///
///     const auto context = simulate::draw_sphere_context<double>({3, 2, 10}, /*seed=*/1, /*trial=*/0);
///
/// Source    SphereTaskDraw: the same bits as in a run of the same scalar, seed and index.
/// Errors    as validate(SphereTask).
template <class T = float>
SphereContext<T> draw_sphere_context(const SphereTask& task, std::uint64_t seed, std::uint64_t trial) {
  validate(task, "simulate::draw_sphere_context");
  const SphereTaskDraw<T> draw = detail::draw_of<T>(task);
  std::vector<T> rows(static_cast<std::size_t>(draw.rows()));
  draw.draw(random::Trials<1>{seed, trial}, LaneArray<T, 1>{rows.data(), 1});
  const auto numbers = [&](std::int64_t first, std::int64_t count) {
    return std::vector<T>(rows.begin() + first, rows.begin() + first + count);
  };
  SphereContext<T> context;
  context.inputs = numbers(0, task.context_length * task.dimension);
  context.query = numbers(draw.query_row(), task.dimension);
  context.prototypes = numbers(draw.prototypes_row(), task.classes * task.dimension);
  context.query_label = static_cast<std::int64_t>(rows[static_cast<std::size_t>(draw.label_row())]);
  context.attempts = static_cast<std::int64_t>(rows[static_cast<std::size_t>(draw.attempts_row())]);
  for (std::int64_t j = 0; j < task.context_length; ++j) {
    const bool balanced = task.law == ContextLaw::balanced;
    const T label = balanced ? T(0) : rows[static_cast<std::size_t>(draw.labels_row() + j)];
    context.labels.push_back(balanced ? j / draw.class_size() : static_cast<std::int64_t>(label));
  }
  return context;
}

}  // namespace incontext::simulate
