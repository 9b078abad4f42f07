// Prints the bits of the weights of every named map, and of their transposed Jacobian times a cotangent, in rows of
// several lengths, as float and as double: numbers for a person, a hash for the rest. Where the bits are those of the C
// library, in rows of fewer than 16 scores, in SSA and in tanh, it prints digits in their place. Then it prints the
// bits of attention and of its gradients. Compiled for any processor, it prints the same.

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <tuple>
#include <vector>

#include "incontext/apply/attention.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/maps/any_map.hpp"
#include "incontext/scoring/softmax.hpp"

namespace {

using namespace incontext;

/// A sum over all numbers' bits (Fowler, Noll and Vo), which another bit or another order changes.
template <class T>
std::uint64_t hash_of(const std::vector<T>& numbers) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const T& number : numbers) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof(number));
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

/// Numbers between -2 and 2, exact in every type.
template <class T>
std::vector<T> numbers(std::size_t count, std::uint64_t state) {
  std::vector<T> result(count);
  for (T& number : result) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<T>(static_cast<double>(state >> 42) / (1 << 20) - 2);
  }
  return result;
}

template <class T>
void print_map(std::string_view name, const maps::AnyMap<T>& map) {
  for (const std::size_t count : std::array<std::size_t, 6>{1, 5, 15, 16, 40, 1000}) {
    const std::vector<T> scores = numbers<T>(count, count), cotangent = numbers<T>(count, count + 1);
    std::vector<T> result(count), pulled(count);
    const auto size = static_cast<std::ptrdiff_t>(count);
    const scoring::Row<const T> row(scores.data(), size);
    weights(map, row, scoring::Row<T>(result.data(), size));
    vjp(map, row, scoring::Row<const T>(cotangent.data(), size), scoring::Row<T>(pulled.data(), size));
    std::printf("%.*s %zu bytes %zu scores ", static_cast<int>(name.size()), name.data(), sizeof(T), count);
    const double weight = static_cast<double>(result[count / 2]), slope = static_cast<double>(pulled[count / 2]);
    if (count < 16 || name == "ssa" || name == "tanh") {
      std::printf("%.4g %.4g\n", weight, slope);
    } else {
      std::printf("%a %a %016" PRIx64 " %016" PRIx64 "\n", weight, slope, hash_of(result), hash_of(pulled));
    }
  }
}

template <class T>
void print_maps() {
  std::apply([](const auto&... named) { (print_map<T>(named.name, {named.map}), ...); }, maps::named_maps<T>());
}

template <class T>
void print_attention(std::ptrdiff_t dimension) {
  constexpr std::ptrdiff_t queries = 70, keys = 90;
  const auto matrix = [=](std::vector<T>& data) {
    return scoring::MatrixView<T>(data.data(), static_cast<std::ptrdiff_t>(data.size()) / dimension, dimension);
  };
  const auto of_queries = static_cast<std::size_t>(queries * dimension);
  const auto of_keys = static_cast<std::size_t>(keys * dimension);
  auto q = numbers<T>(of_queries, 1), k = numbers<T>(of_keys, 2), v = numbers<T>(of_keys, 3);
  auto g = numbers<T>(of_queries, 4), out = g, to_q = q, to_k = k, to_v = v;
  for (auto* matrix_of : {&q, &k, &v, &g}) {
    for (T& number : *matrix_of) number /= 3;  // products of few bits would be exact in double
  }
  const scoring::Softmax<T> map{T(2)};
  apply::attend(map, matrix(q), matrix(k), matrix(v), matrix(out));
  apply::attention_gradient(map, matrix(q), matrix(k), matrix(v), matrix(g),
                            {matrix(to_q), matrix(to_k), matrix(to_v)});
  std::printf("attention of %d components %zu bytes", static_cast<int>(dimension), sizeof(T));
  for (const auto* result : {&out, &to_q, &to_k, &to_v}) {
    std::printf(" %a %016" PRIx64, static_cast<double>(result->back()), hash_of(*result));
  }
  std::puts("");
}

}  // namespace

int main() {
  print_maps<float>();
  print_maps<double>();
  for (const std::ptrdiff_t dimension : {1, 9, 64}) {
    print_attention<float>(dimension);
    print_attention<double>(dimension);
  }
}
