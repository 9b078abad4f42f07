#pragma once

#include <string_view>

namespace incontext::python {

/// The documentation of one C++ name. docstrings.py writes the table, in order of the names, from the headers.
struct Docstring {
  std::string_view name;
  const char* text;
};

}  // namespace incontext::python

#include "docstrings_table.hpp"
