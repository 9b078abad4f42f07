#pragma once

#include <incontext/regression/linear_task.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/output.hpp"

namespace CLI {
class App;
}  // namespace CLI

/// The law of in-context regression that a command line describes: one in pretraining, and what is shifted at test time.
namespace incontext::examples {

struct RegressionLawOptions {
  double noise_variance = 0.1;
  double test_noise_variance = 0;  ///< meant only if `has_test_noise`
  bool has_noise = false;
  bool has_test_noise = false;
  double input_scale = 1;
  double task_scale = 1;
  double mean_shift = 0;
  std::string input_covariance = {}, task_covariance = {};            ///< files
  std::string test_input_covariance = {}, test_task_covariance = {};  ///< files
  std::string task_mean = {}, test_task_mean = {};                    ///< a length or a file
};

void add_regression_law_options(CLI::App& app, RegressionLawOptions& o);

/// Finds out which options were given; to be called before the others below.
void complete_regression_law(const CLI::App& app, RegressionLawOptions& o);

/// The names of all those options.
std::vector<std::string> regression_law_names();

/// A covariance from a file, for the option that names it.
regression::Matrix<double> read_covariance(const std::string& option, const std::string& file,
                                           std::optional<Eigen::Index> size);

/// The mean of that length along (1, ..., 1).
regression::Vector<double> mean_of_length(double length, std::int64_t dimension);

/// The variances of inputs and tasks in every direction where no file gives a covariance.
struct IsotropicDefaults {
  double input_variance = 1;
  std::optional<double> task_variance = {};  ///< one over the dimension if absent
};

/// The law in pretraining: centered inputs, tasks with the mean asked for. A file sets the dimension where `given` is
/// false.
regression::LinearTask<double> training_task(const RegressionLawOptions& o, std::int64_t dimension, bool given,
                                             const IsotropicDefaults& defaults = {});

/// The law at test time: the training law with every shift the options ask for.
regression::LinearTask<double> shifted(const regression::LinearTask<double>& training, const RegressionLawOptions& o);

/// Its parts that are not the usual ones, for a title: ", tested with ...".
std::string unusual_in_words(const RegressionLawOptions& o);

}  // namespace incontext::examples
