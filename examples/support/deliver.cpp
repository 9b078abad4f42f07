#include "examples/support/deliver.hpp"

#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::csv:
      return render_csv(report);
    case Format::json:
      return render_json(report);
    case Format::table:
      break;
  }
  return render_text(report);
}

void deliver(const Report& report, const OutputOptions& options) {
  const std::string text = render(report, options.format);
  if (!options.to_standard_output()) {
    write_file(options.file, text);
    if (!options.quiet && !report.verdict.text.empty()) write_standard_output(report.verdict.text + '\n');
  } else if (!options.quiet) {
    write_standard_output(text);
  }
}

}  // namespace incontext::examples
