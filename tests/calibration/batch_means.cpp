#include "incontext/calibration/batch_means.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace incontext::calibration;

namespace {

RowStatistics row_of(double value) {
  RowStatistics row{};
  row[RowStatistic::entropy] = value;
  return row;
}

}  // namespace

TEST_CASE("batches double when there are too many, and are means of successive rows", "[calibration]") {
  for (const int rows : {1, 40, 64, 65, 129, 1000}) {
    BatchMeans means;
    for (int i = 0; i < rows; ++i) means.add(row_of(i));
    CAPTURE(rows, means.batch_size());
    CHECK(means.batches().size() <= BatchMeans::most_batches);
    CHECK(static_cast<std::int64_t>(means.batches().size()) == rows / means.batch_size());
    CHECK(rows - means.rows() < means.batch_size());
    CHECK((rows <= 64 ? means.batch_size() == 1 : means.batches().size() >= 32));
    for (std::size_t b = 0; b < means.batches().size(); ++b) {
      const auto size = static_cast<double>(means.batch_size());
      CHECK(means.batches()[b][RowStatistic::entropy] == static_cast<double>(b) * size + (size - 1) / 2);
    }
    CHECK(means.half(0).batches().size() + means.half(1).batches().size() == means.batches().size());
  }
}

TEST_CASE("the error of correlated rows covers their mean, and that of independent rows does not", "[calibration]") {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  constexpr double kept = 0.8;  // correlation of neighbors; 1 / (1 - kept) rows are as one
  double batch_squares = 0, row_squares = 0;
  constexpr int runs = 400, rows = 4096;
  for (int run = 0; run < runs; ++run) {
    BatchMeans means;
    double state = normal(generator) / std::sqrt(1 - kept * kept), sum = 0, squares = 0;
    for (int i = 0; i < rows; ++i) {
      state = kept * state + normal(generator);
      sum += state;
      squares += state * state;
      means.add(row_of(state));
    }
    const auto estimate = means.estimate(RowStatistic::entropy);
    batch_squares += std::pow(estimate.mean / estimate.standard_error, 2) / runs;
    row_squares += std::pow(sum / rows, 2) / (squares / rows / rows) / runs;
  }
  // mean of z^2, 1 if the error is right; its own standard error is sqrt(2/400) = 0.07
  CHECK(batch_squares > 0.8);
  CHECK(batch_squares < 1.3);
  CHECK(row_squares > 5);  // (1 + kept) / (1 - kept) = 9
}
