#include "examples/calibrate/measurement.hpp"

#include <chrono>
#include <exception>
#include <thread>

#include "examples/support/progress.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::HeadCalibration;
using calibration::HeadMeasurement;

std::vector<HeadMeasurement> measure_array(const MappedScores& scores, const calibration::ScoreArray& array,
                                           const CalibrateOptions& o, double gap) {
  ProgressLine line(o.output.quiet);
  const auto start = std::chrono::steady_clock::now();
  calibration::MeasurementOptions options{
      .inverse_temperature = o.inverse_temperature,
      .needle_gap = gap,
      .causal = o.causal,
      .masked_rows = o.leave_out_masked_rows ? calibration::MaskedRows::left_out : calibration::MaskedRows::refused,
      .threads = o.threads};
  options.progress = [&](std::int64_t done, std::int64_t planned) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    line.show("measuring", done, planned, seconds.count());
    if (done % 16 == 0) scores.release();
  };
  try {
    return calibration::measure_heads(array, options);
  } catch (const std::exception& error) {
    throw InputError(scores.file() + ": " + without_function(error.what()));
  }
}

}  // namespace

std::vector<HeadMeasurement> measure(const MappedScores& scores, const CalibrateOptions& o) {
  return measure_array(scores, scores.array(), o, 0);
}

HeadMeasurement measure_one(const MappedScores& scores, const CalibrateOptions& o, HeadPlace place, double gap) {
  HeadMeasurement head =
      measure_array(scores, calibration::one_head(scores.array(), place.layer, place.head), o, gap).front();
  head.layer = place.layer;
  head.head = place.head;
  return head;
}

std::vector<HeadCalibration> calibrate_all(const std::vector<HeadMeasurement>& heads, const CalibrateOptions& o) {
  return calibration::calibrate_heads(heads, o.threads);
}

}  // namespace incontext::examples::calibrate
