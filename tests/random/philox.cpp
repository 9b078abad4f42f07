#include "incontext/random/philox.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <tuple>

#include "support/catch.hpp"

namespace philox_test {

using namespace incontext;
using random::LaneStream;

namespace {

struct Words {
  std::uint32_t value[4];
};

Words words_of(std::uint64_t seed, std::uint64_t trial, std::uint32_t block, std::uint32_t stream) {
  Words words;
  random::philox(seed, {trial, block, stream}, words.value);
  return words;
}

/// How many of the words of W lanes differ from Random123's.
template <int W>
int differences(std::uint64_t seed, std::uint64_t first_trial, std::uint32_t block, std::uint32_t stream) {
  std::uint32_t lanes[4][W];
  LaneStream<W>({seed, first_trial}, random::StreamTag(stream)).words(block, lanes);
  int count = 0;
  for (int lane = 0; lane < W; ++lane) {
    const Words truth = words_of(seed, first_trial + static_cast<std::uint64_t>(lane), block, stream);
    for (int k = 0; k < 4; ++k) count += lanes[k][lane] != truth.value[k];
  }
  return count;
}

template <int W>
struct Lanes {
  static constexpr int width = W;
};

}  // namespace

// Random123's kat_vectors, in the library's layout of counter (trial low, trial high, block, stream) and key.
TEST_CASE("philox gives Random123's known answers") {
  struct Known {
    std::uint64_t seed, trial;
    std::uint32_t block, stream;
    Words answer;
  };
  const Known table[] = {
      {0, 0, 0, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
      {~0ULL, ~0ULL, ~0u, ~0u, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
      {0x299f31d0a4093822ULL,
       0x85a308d3243f6a88ULL,
       0x13198a2e,
       0x03707344,
       {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
  };
  for (const Known& known : table) {
    const Words words = words_of(known.seed, known.trial, known.block, known.stream);
    for (int k = 0; k < 4; ++k) CHECK(words.value[k] == known.answer.value[k]);
    std::uint32_t lane[4][1];
    LaneStream<1>({known.seed, known.trial}, random::StreamTag(known.stream)).words(known.block, lane);
    for (int k = 0; k < 4; ++k) CHECK(lane[k][0] == known.answer.value[k]);
  }
}

TEMPLATE_TEST_CASE("every lane holds philox's words", "", Lanes<1>, Lanes<2>, Lanes<4>, Lanes<8>, Lanes<16>, Lanes<32>,
                   Lanes<64>) {
  constexpr int W = TestType::width;
  constexpr std::uint64_t whole = ~static_cast<std::uint64_t>(W - 1);
  std::mt19937_64 random(21);
  int different = 0;
  for (int i = 0; i < 32768 / W; ++i) {
    const auto seed = random();
    const auto block = static_cast<std::uint32_t>(random());
    const auto stream = static_cast<std::uint32_t>(random());
    const auto trial = (random() >> (i % 64)) & whole;  // both sides of 2^32
    different += differences<W>(seed, trial, block, stream);
    different += differences<W>(seed, trial, block % 100, stream % 10);
  }
  CHECK(different == 0);

  for (std::uint64_t seed : {0ULL, 1ULL, 0xffffffffULL, 0x100000000ULL, ~0ULL}) {
    for (std::uint64_t trial : {0ULL, 64ULL, 0xffffffc0ULL, 0x100000000ULL, 0x8000000000000000ULL, ~63ULL}) {
      for (std::uint32_t block : {0u, 1u, 0x7fffffffu, 0x80000000u, ~0u}) {
        for (std::uint32_t stream : {0u, 1u, ~0u}) different += differences<W>(seed, trial, block, stream);
      }
    }
  }
  CHECK(different == 0);
  // the last W trials below 2^32 and the first above
  CHECK(differences<W>(7, 0x100000000ULL - W, 3, 2) == 0);
  CHECK(differences<W>(7, 0x100000000ULL, 3, 2) == 0);
}

TEST_CASE("a lane stream answers its blocks in any order") {
  const LaneStream<64> stream({3, 1 << 20}, random::StreamTag(5));
  std::uint32_t first[4][64], other[4][64], again[4][64];
  stream.words(9, first);
  stream.words(4000000000u, other);
  stream.words(9, again);
  int same_as_other = 0;
  for (int k = 0; k < 4; ++k) {
    for (int lane = 0; lane < 64; ++lane) {
      REQUIRE(first[k][lane] == again[k][lane]);
      same_as_other += first[k][lane] == other[k][lane];
    }
  }
  CHECK(same_as_other == 0);
}

TEST_CASE("seeds, trials, blocks and streams are told apart, each in all of its bits") {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  const auto note = [&](std::uint64_t seed, std::uint64_t trial, std::uint32_t block, std::uint32_t stream) {
    const Words w = words_of(seed, trial, block, stream);
    seen.insert({w.value[0], w.value[1], w.value[2], w.value[3]});
  };
  std::size_t counters = 1;
  note(0, 0, 0, 0);
  for (int bit = 0; bit < 64; ++bit, counters += 2) {
    note(1ULL << bit, 0, 0, 0);
    note(0, 1ULL << bit, 0, 0);
  }
  for (int bit = 0; bit < 32; ++bit, counters += 2) {
    note(0, 0, 1u << bit, 0);
    note(0, 0, 0, 1u << bit);
  }
  for (std::uint64_t trial = 3; trial < 13; ++trial) {  // a cube, so that no argument can replace another
    for (std::uint32_t block = 3; block < 13; ++block) {
      for (std::uint32_t stream = 3; stream < 13; ++stream, ++counters) note(0, trial, block, stream);
    }
  }
  CHECK(seen.size() == counters);
}

TEST_CASE("a change of one bit of the counter or the key flips half of the words' bits") {
  std::mt19937_64 random(22);
  int flipped = 0;
  constexpr int pairs = 4096;
  for (int i = 0; i < pairs; ++i) {
    const auto seed = random();
    const auto trial = random();
    const auto block = static_cast<std::uint32_t>(random());
    const auto stream = static_cast<std::uint32_t>(random());
    const int bit = i % 192;
    const Words a = words_of(seed, trial, block, stream);
    const Words b = bit < 64    ? words_of(seed ^ (1ULL << bit), trial, block, stream)
                    : bit < 128 ? words_of(seed, trial ^ (1ULL << (bit - 64)), block, stream)
                    : bit < 160 ? words_of(seed, trial, block ^ (1u << (bit - 128)), stream)
                                : words_of(seed, trial, block, stream ^ (1u << (bit - 160)));
    for (int k = 0; k < 4; ++k) flipped += __builtin_popcount(a.value[k] ^ b.value[k]);
  }
  // binomial: 128 bits per pair, each flipped with probability 1/2
  const double n = 128.0 * pairs;
  CHECK(std::abs(flipped - n / 2) <= 5 * std::sqrt(n / 4));
}

}  // namespace philox_test
