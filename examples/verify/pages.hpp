#pragma once

#include <string>

#include "examples/verify/edition.hpp"

/// The ledger to read: as one HTML page without any other file, and as Markdown.
namespace incontext::examples::verify {

/// What a report says about its run.
struct RunNotes {
  std::string command;  ///< the ledger's own command line
  std::uint64_t seed = 1;
  Edition edition = Edition::quick;
  std::string page = {};  ///< the file of the page, from which links to sources start
};

std::string html_of(const Ledger& ledger, const Registry& registry, const RunNotes& notes);

std::string markdown_of(const Ledger& ledger, const Registry& registry, const RunNotes& notes);

/// The processor and the number of cores, as far as the system tells.
std::string machine();

}  // namespace incontext::examples::verify
