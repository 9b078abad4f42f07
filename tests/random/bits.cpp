// The bits of every sampler, the same for every compiler, mathematical library and instruction set. A change here
// changes every published result, and is a breaking change.
#include <cstdint>
#include <cstring>
#include <vector>

#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/wishart.hpp"
#include "support/catch.hpp"

namespace bits_test {

using namespace incontext;
using random::LaneStream;

namespace {

/// FNV-1a over the bytes of numbers, least significant first on every machine these tests run on.
class Digest {
 public:
  template <class T>
  void add(const T& value) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    for (const unsigned char byte : bytes) hash_ = (hash_ ^ byte) * 0x100000001b3ULL;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

constexpr std::uint64_t trials = 4096;

template <int W, class T>
std::uint64_t normal_digest() {
  constexpr int per_block = random::normals_per_block<T>;
  Digest digest;
  std::vector<T> all(static_cast<std::size_t>(trials) * 4 * per_block);
  for (std::uint64_t trial = 0; trial < trials; trial += W) {
    const LaneStream<W> stream({0x0123456789abcdefULL, (1ULL << 32) - trials / 2 + trial}, random::StreamTag(3));
    for (std::uint32_t block = 0; block < 4; ++block) {
      T z[per_block][W];
      normals(stream, block, z);
      for (int i = 0; i < per_block; ++i) {
        for (int lane = 0; lane < W; ++lane) {
          all[(static_cast<std::size_t>(trial) + static_cast<std::size_t>(lane)) * 4 * per_block + block * per_block +
              static_cast<std::size_t>(i)] = z[i][lane];
        }
      }
    }
  }
  for (const T& z : all) digest.add(z);
  return digest.value();
}

template <int W>
std::uint64_t chi_square_digest() {
  Digest digest;
  for (std::int64_t degrees_of_freedom : {1, 2, 3, 10, 99, 1000000}) {
    for (std::uint64_t trial = 0; trial < trials; trial += W) {
      double out[W];
      chi_square(LaneStream<W>({0x0123456789abcdefULL, trial}, random::StreamTag(4)), 7, degrees_of_freedom, out);
      for (const double value : out) digest.add(value);
    }
  }
  return digest.value();
}

template <int W, class T>
std::uint64_t wishart_digest() {
  constexpr int d = 4;
  Digest digest;
  std::vector<T> factor(d * d * W, T(0));
  for (std::int64_t degrees_of_freedom : {3, 20}) {
    for (std::uint64_t trial = 0; trial < trials; trial += W) {
      random::bartlett_factor<W>({0x0123456789abcdefULL, trial}, {random::StreamTag(5), random::StreamTag(6)},
                                 {d, degrees_of_freedom}, factor.data(), W);
      for (int lane = 0; lane < W; ++lane) {
        for (std::size_t entry = 0; entry < d * d; ++entry)
          digest.add(factor[entry * W + static_cast<std::size_t>(lane)]);
      }
    }
  }
  return digest.value();
}

}  // namespace

TEST_CASE("the bits of normals are the published ones") {
  CHECK(normal_digest<64, float>() == 0xd0a7dd83eb5c3648ULL);
  CHECK(normal_digest<1, float>() == 0xd0a7dd83eb5c3648ULL);
  CHECK(normal_digest<8, float>() == 0xd0a7dd83eb5c3648ULL);
  CHECK(normal_digest<64, double>() == 0x451610c04507e6afULL);
  CHECK(normal_digest<1, double>() == 0x451610c04507e6afULL);
  CHECK(normal_digest<8, double>() == 0x451610c04507e6afULL);
}

TEST_CASE("the bits of chi-squares are the published ones") {
  CHECK(chi_square_digest<64>() == 0x7ad5f653b0de7257ULL);
  CHECK(chi_square_digest<1>() == 0x7ad5f653b0de7257ULL);
}

TEST_CASE("the bits of Bartlett's factor are the published ones") {
  CHECK(wishart_digest<64, float>() == 0x283f24c994256b26ULL);
  CHECK(wishart_digest<1, float>() == 0x283f24c994256b26ULL);
  CHECK(wishart_digest<64, double>() == 0xd01bc3a8c58b723cULL);
  CHECK(wishart_digest<1, double>() == 0xd01bc3a8c58b723cULL);
}

}  // namespace bits_test
