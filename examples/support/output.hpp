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
  bool replace_by_partial = false;  ///< whether a stopped run's report may take the file's place

  bool to_standard_output() const { return file.empty() || file == "-"; }
};

/// Refuses a file that could not be written at the end, before a long run begins. Leaves nothing behind.
void require_writable(const std::string& file, const std::string& option = "--output");

/// Writes a file beside the target and renames it, so that a reader sees the old content or the new, never a part.
void write_file(const std::string& file, std::string_view content, const std::string& option = "--output");

/// Writes files that belong together, names and contents: none takes its place before all are complete.
void write_files(const std::vector<std::pair<std::string, std::string_view>>& files, const std::string& option);

void write_standard_output(std::string_view text);

}  // namespace incontext::examples
