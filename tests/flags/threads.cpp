// Closed forms in a project that is compiled with OpenMP and includes Eigen first: one thread, the same bits for any
// OMP_NUM_THREADS, and an answer in a forked process.
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <Eigen/Dense>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <vector>

#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/scoring/softmax.hpp>

#include "checks.hpp"

namespace regression = incontext::regression;

namespace {

/// Numbers that need the products and the decompositions of matrices of 96 rows, with eigenvalues 1/i.
std::vector<double> numbers() {
  const Eigen::MatrixXd turned =
      Eigen::HouseholderQR<Eigen::MatrixXd>(Eigen::MatrixXd::Ones(96, 96) + Eigen::MatrixXd::Identity(96, 96))
          .householderQ();
  const Eigen::VectorXd eigenvalues = Eigen::VectorXd::LinSpaced(96, 1, 96).cwiseInverse();
  const Eigen::MatrixXd product = turned * eigenvalues.asDiagonal() * turned.transpose();
  const auto plain =
      regression::LinearTask<double>::isotropic({.dimension = 96, .task_variance = 0.01, .noise_variance = 0.1});
  const auto task = plain.with_input_covariance(0.5 * (product + product.transpose()));
  const auto layer = regression::pretrained_attention(task, 200);
  const auto error = regression::generalization_error(layer, task, 200);
  return {layer.key_query(3, 90), error.optimal_temperature(), error(1.0),
          regression::centered_ridge_risk_equivalent(task, 200).risk,
          regression::softmax_error(layer, task, 200, incontext::scoring::Softmax<double>{2}).value};
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

bool answers_in_a_forked_process(const std::vector<double>& expected) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);
    _exit(same_bits(numbers(), expected) ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main() {
  omp_set_num_threads(4);
  const std::vector<double> found = numbers();
  flags::near("threads after closed forms", static_cast<double>(threads()), 1, 0);
  flags::holds("a forked process answers", answers_in_a_forked_process(found));
  omp_set_num_threads(1);
  flags::holds("the bits of one thread", same_bits(numbers(), found));
  // power: Eigen was compiled with threads here, and a program that asks for them has them
  omp_set_num_threads(4);
  Eigen::setNbThreads(4);
  const std::vector<double> threaded = numbers();
  for (std::size_t i = 0; i < found.size(); ++i) flags::near("a threaded result", threaded[i], found[i], 1e-10L);
  flags::holds("power: Eigen's own threads are seen", threads() > 1);
  return flags::verdict();
}
