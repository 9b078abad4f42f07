#pragma once

#include <functional>
#include <map>
#include <string>

#include "tests/oracles/kinds/fields.hpp"

/// Which kinds of case can be computed. Every room of the library registers its own kinds from a file of its own.
namespace incontext::oracles {

/// Reads a case's `in` and computes every field it knows; throws where an input is missing or out of domain.
using Evaluator = std::function<Json(const Fields& in)>;
using Registry = std::map<std::string, Evaluator>;

}  // namespace incontext::oracles
