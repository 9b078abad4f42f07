#pragma once

#include "incontext/core/floating_point.hpp"

namespace incontext {

/// Whether the query attends to itself too, with no label of its own. Excluded: it attends to the examples only.
/// Included: its own token is one more key, which is the model of arXiv 2511.01292 eq. (5) and of an unmasked head.
///
/// Runs on   host and device
enum class QueryToken { excluded, included };

}  // namespace incontext
