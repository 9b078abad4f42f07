#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "examples/support/text.hpp"

/// Where a report goes: standard output, or a file that appears complete or not at all.
namespace incontext::examples {

enum class Format { table, csv, json };

struct OutputOptions {
  Format format = Format::table;
  std::string file = {};  ///< empty or "-": standard output
  bool quiet = false;
  bool audit = false;               ///< whether text has controls, second opinions and remarks on the draws, too
  bool replace_by_partial = false;  ///< whether a stopped run's report may take the file's place

  bool to_standard_output() const { return file.empty() || file == "-"; }
};

/// The file for the report of a run that was stopped, so that an older report is kept.
std::string partial_file(const std::string& file);

/// A file, and the option of the command line that names it.
struct NamedFile {
  std::string option;
  std::string file;  ///< empty: the option was not given
};

/// Refuses, before a long run begins, what would be lost at its end: an output that cannot be written, two outputs into
/// one file, standard output among them, and an output in place of an input. Links are followed. No file is left
/// behind. `updated` are inputs that may also be written, so that only --checkpoint may name one of them again.
void require_outputs(const OutputOptions& output, const std::vector<NamedFile>& others = {},
                     const std::vector<NamedFile>& inputs = {}, const std::vector<NamedFile>& updated = {});

/// Refuses a device, a pipe or standard output where a file is needed.
void require_file(const NamedFile& output);

/// Writes a file under a temporary name and renames it, so that a reader sees the old content or the new, never a part.
/// Access rights and symbolic links are kept; other hard links keep the old content. If the last step fails, the
/// content remains under the temporary name, which the message states.
void write_file(const std::string& file, std::string_view content, const std::string& option = "--output");

/// Writes files that belong together, names and contents: none takes its place before all are complete.
void write_files(const std::vector<std::pair<std::string, std::string_view>>& files, const std::string& option);

void write_standard_output(std::string_view text);

/// Prepares the process for writing: a closed standard stream cannot be confused with a file opened later, and a file
/// that exceeds the size limit causes an error instead of a signal that ends the program.
void prepare_streams();

}  // namespace incontext::examples
