#include "examples/calibrate/options.hpp"

#include <algorithm>
#include <limits>

namespace incontext::examples::calibrate {

void add_calibrate_options(CLI::App& app, CalibrateOptions& o) {
  const auto positive = [](double value) { return value > 0; };
  add_input(app, "--scores", o.scores,
            "The raw scores, .npy: layers x heads x queries x keys, or the last three, two or one of these");
  add_flag(app, "--causal", o.causal, "Query i sees the keys up to its own position alone; the queries are the last");
  add_number(app, "--inverse-temperature", o.inverse_temperature,
             "Multiplies every score; 1 for scores as softmax gets them, 1/sqrt(d) for products q.k", positive,
             "0 < value");
  add_flag(app, "--leave-out-masked-rows", o.leave_out_masked_rows,
           "Leave out queries whose keys are all masked, such as padding, instead of refusing them");
  head_options(app, "Scores");
  const auto read_head = [&o](const std::string& text) {
    const std::vector<std::string> parts = parse_list(text);
    if (parts.size() != 2) throw_input_error("--head", "is not a layer and a head", text, "LAYER,HEAD, from 0 on");
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    o.head = {parse_count<std::int64_t>("--head", parts[0], 0, most),
              parse_count<std::int64_t>("--head", parts[1], 0, most)};
  };
  add_read(app, "--head", read_head, "Show this head in detail; default: the head, if there is only one", "L,H");
  const auto read_gap = [&o](const std::string& text) {
    o.gap = parse_number("--gap", text);
    if (!(*o.gap > 0)) throw_input_error("--gap", "is not positive", text, "0 < value");
  };
  add_read(app, "--gap", read_gap,
           "The needle's score above the mean of the others, after --inverse-temperature; default: 4 of their standard "
           "deviations",
           "NUMBER");
  show_no_default(add_count<std::int64_t>(app, "--trained-length", o.trained_length,
                                          "Length of the rows in training; default: the longest row", 2,
                                          std::int64_t{1} << 40));
  add_counts(app, "--factors", o.factors, "Lengths to plan for, over the trained length; default: 1,2,8,128", 1,
             1000000);
  show_no_default(
      add_input(app, "--shifted", o.shifted,
                "Scores of the same head under a shift, .npy of the same kind: the moment-ratio temperature"));
  show_no_default(add_written(
      app, "--plot", o.plot, "Draw the head's entropy and needle weight against the row length, measured and predicted",
      "FILE.svg"));
  head_options(app, "Head");
  show_no_default(add_count<int>(app, "--threads", o.threads,
                                 "Threads; they never change a digit; default: as many as the machine has", 1, 4096));
  add_output_options(app, o.output);
}

UnusedOptions check_combination(const CLI::App& app, CalibrateOptions& o) {
  UnusedOptions unused(app);
  if (o.scores.empty()) throw InputError("--scores is missing (needs a file of raw attention scores, .npy)");
  if (o.factors.empty()) o.factors = {1, 2, 8, 128};
  if (o.factors.front() != 1) o.factors.insert(o.factors.begin(), 1);
  for (std::size_t i = 1; i < o.factors.size(); ++i) {
    if (!(o.factors[i - 1] < o.factors[i])) {
      throw_input_error("--factors", "is not above the one before it", o.factors[i], "ascending numbers");
    }
  }
  if (o.factors.size() < 2) throw_input_error("--factors", "is too short", o.factors.size(), "a factor above 1");
  if (!o.plot.empty()) require_file({"--plot", o.plot});
  return unused;
}

}  // namespace incontext::examples::calibrate
