#pragma once

#include <string>

#include "examples/support/report.hpp"
#include "examples/verify/claim.hpp"

/// The ledger to read, as one HTML page without any other file.
namespace incontext::examples::verify {

/// The page that page.html draws from the JSON of a report with all four tables of the ledger.
std::string page_of(const Report& report, const Registry& registry);

}  // namespace incontext::examples::verify
