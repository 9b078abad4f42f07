#pragma once

#include <string>

#include "examples/classify/options.hpp"

/// Contexts of the task as .npy files, for those who simulate elsewhere.
namespace incontext::examples::classify {

/// The labels' file beside that of the inputs: FILE.npy -> FILE-labels.npy.
std::string labels_file(const std::string& inputs_file);

/// Refuses files for the contexts and the report that cannot be written, before a long computation begins.
void require_writable_files(const ClassifyOptions& o);

/// Writes inputs, contexts x (n + 1) x d, the query last, and integer labels, contexts x (n + 1). Neither file appears
/// before both are complete.
void write_contexts(const ClassifyOptions& o, const Simulator& simulator);

}  // namespace incontext::examples::classify
