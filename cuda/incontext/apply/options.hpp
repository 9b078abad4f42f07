#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/simulate/engine/device.hpp"

/// Maps applied to whole matrices, on any Thrust system. Nothing in this folder is random or an estimate.
namespace incontext::apply {

/// What happens if the map is undefined on a row: std::domain_error after all rows are done, or NaN left in the row.
enum class Undefined { refuse, leave };

/// Which keys each query sees, and where the work is done.
///
/// Row i sees the first visible_counts[i] keys. If `visible_counts` is empty, `visibility` decides.
///
/// Every map is undefined on a masked row, which shows no key: by its count or, where scores are given, because they
/// are all -infinity. With `zero_masked_rows` its weights, its output and all its derivatives are 0 instead.
///
/// On CUDA each matrix may be in the host's memory (managed memory is the host's) or in that of GPU `gpu`, and all work
/// is in `stream`. A matrix in the GPU's memory is used in place if its numbers are neighbors in the order that the map
/// needs: by rows for attention and for Softmax, SSMax and SSA, by columns for other maps. Otherwise the GPU works on a
/// copy in its own memory. It also does so for `out` if Softmax, SSMax or SSA write to an input, and for the queries and
/// the cotangent of attention_gradient if a visible count is 0. Other devices cannot read a matrix in a GPU's memory:
/// the program ends.
///
/// On a GPU with memory pools a call does not wait for its work if all its matrices are in the GPU's memory, `undefined`
/// is `leave` and `visible_counts` is empty. A later call then reports what fails on the GPU. derivative and
/// attention_gradient return numbers, and wait. Matrices in the host's memory and counts are read during the call, not in
/// the order of the stream.
///
/// Shapes    visible_counts: empty, or one per row, in the host's memory.
/// Domain    1 <= visible_counts[i] <= n, with zero_masked_rows from 0 on; 0 <= threads <= simulate::most_threads
///           (0: all; CUDA ignores it).
struct Options {
  scoring::Visibility visibility = scoring::Visibility::all;
  std::span<const std::int64_t> visible_counts = {};
  Undefined undefined = Undefined::refuse;
  bool zero_masked_rows = false;
  simulate::Device device = simulate::Device::automatic;
  int threads = 0;
  int gpu = 0;             ///< which of several GPUs; devices other than CUDA ignore it
  void* stream = nullptr;  ///< a cudaStream_t of that GPU; null: its default stream. Other devices ignore it
};

/// Refuses options that do not fit a matrix of that shape.
///
/// Shapes    rows x columns
/// Errors    std::invalid_argument naming the option.
inline void validate(std::string_view where, const Options& options, std::int64_t rows, std::int64_t columns) {
  simulate::require_threads(where, options.threads);
  if (options.visible_counts.empty()) return;
  require_same_size(where, "visible_counts", static_cast<std::int64_t>(options.visible_counts.size()), rows);
  const std::int64_t least = options.zero_masked_rows ? 0 : 1;
  for (const std::int64_t count : options.visible_counts) {
    if (count < least || count > columns) {
      throw_invalid_argument(where, "visible count is out of range", count,
                             std::to_string(least) + " to " + std::to_string(columns));
    }
  }
}

}  // namespace incontext::apply
