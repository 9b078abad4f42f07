#pragma once

#include <string>

#include "examples/classify/options.hpp"

/// Contexts of the classification task, written as .npy files for simulations by other programs.
namespace incontext::examples::classify {

/// The name of the file of labels that belongs to a file of inputs: FILE.npy -> FILE-labels.npy.
std::string labels_file(const std::string& inputs_file);

/// Refuses, before a long computation begins, files for contexts and a picture that are too large or no files.
void require_possible_files(const ClassifyOptions& o);

/// Writes inputs, contexts x (n + 1) x d, the query last, and integer labels, contexts x (n + 1). Neither file appears
/// before both are complete.
void write_contexts(const ClassifyOptions& o, const Simulator& simulator);

}  // namespace incontext::examples::classify
