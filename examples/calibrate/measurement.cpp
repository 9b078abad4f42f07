#include "examples/calibrate/measurement.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <system_error>

#include "examples/support/progress.hpp"

namespace incontext::examples::calibrate {

namespace {

calibration::MeasurementOptions options_of(const CalibrateOptions& o) {
  return {.inverse_temperature = o.inverse_temperature,
          .needle_gap = 0,
          .causal = o.causal,
          .masked_rows = o.leave_out_masked_rows ? calibration::MaskedRows::left_out : calibration::MaskedRows::refused,
          .leave_out_option = "--leave-out-masked-rows",
          .threads = o.threads,
          .progress = {},
          .poll = {}};
}

/// Runs the function, and puts the file's name in front of a refusal.
template <class Function>
auto naming(const std::string& file, const Function& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error&) {  // about threads, and not about the file
    throw;
  } catch (const std::exception& error) {
    throw InputError(file + ": " + without_function(error.what()));
  }
}

}  // namespace

std::vector<calibration::HeadMeasurement> measure(const MappedScores& scores, const CalibrateOptions& o) {
  ProgressLine line(o.output.quiet);
  const auto start = std::chrono::steady_clock::now();
  calibration::MeasurementOptions options = options_of(o);
  options.progress = [&](std::int64_t done, std::int64_t planned) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    line.show("measuring", done, planned, seconds.count());
    if (done % 16 == 0) scores.release();
  };
  auto heads = naming(scores.file(), [&] { return calibration::measure_heads(scores.array(), options); });
  scores.require_unchanged();
  return heads;
}

std::vector<calibration::HeadCalibration> calibrate_all(const std::vector<calibration::HeadMeasurement>& heads,
                                                        const CalibrateOptions& o) {
  return calibration::calibrate_heads(heads, o.threads);
}

calibration::HeadDetail describe(const MappedScores& scores, const calibration::HeadCalibration& head,
                                 const CalibrateOptions& o) {
  auto detailed = naming(scores.file(), [&] {
    return calibration::detail_of(scores.array(), head, options_of(o), {o.gap, o.trained_length, o.factors});
  });
  scores.require_unchanged();
  return detailed;
}

calibration::ShiftedTemperature shifted(const MappedScores& training, const MappedScores& shifted, HeadPlace place,
                                        const CalibrateOptions& o) {
  const auto ratio_of = [&](const MappedScores& scores) {
    const auto one = calibration::one_head(scores.array(), place.layer, place.head);
    return naming(scores.file(), [&] { return calibration::moment_ratio_of_head(one, options_of(o)); });
  };
  return calibration::shifted_temperature(ratio_of(training), ratio_of(shifted));
}

}  // namespace incontext::examples::calibrate
