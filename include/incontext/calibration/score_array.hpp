#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"

/// Attention scores where they are in memory, without a copy: NumPy's arrays in any order, and memory-mapped files.
namespace incontext::calibration {

/// How one score is stored: IEEE half, single or double precision, or the first half of single precision.
enum class NumberType { float16, float32, float64, bfloat16 };

/// The number of bytes of one score.
constexpr std::int64_t size_of(NumberType type) {
  return type == NumberType::float32 ? 4 : type == NumberType::float64 ? 8 : 2;
}

namespace detail {

/// A type of numbers as NumPy names it, such as int8, from its letter and its size.
inline std::string name_of_type(char kind, std::int64_t bytes) {
  constexpr std::int64_t double_bytes = 8;
  const bool is_long = (kind == 'f' && bytes > double_bytes) || (kind == 'c' && bytes > 2 * double_bytes);
  const std::string bits = std::to_string(8 * bytes);
  if (kind == 'f') return is_long ? "longdouble" : "float" + bits;
  if (kind == 'c') return is_long ? "clongdouble" : "complex" + bits;
  if (kind == 'i') return "int" + bits;
  if (kind == 'u') return "uint" + bits;
  if (kind == 'b') return "bool";
  if (kind == 'O') return "object";
  return std::string(1, kind) + (bytes > 0 ? std::to_string(bytes) : "");
}

}  // namespace detail

/// How the scores of an array are stored, from NumPy's letter for the kind of its numbers and their size.
///
/// Source    NumPy's array protocol: f for a floating-point number, V for bytes without a type, as which NumPy saves
///           bfloat16.
/// Units     bytes per number.
/// Errors    std::invalid_argument for every other kind or size: integers, complex numbers, objects. The message has
///           NumPy's name of the type.
inline NumberType number_type(char kind, std::int64_t bytes) {
  if (kind == 'f' && bytes == 2) return NumberType::float16;
  if (kind == 'f' && bytes == 4) return NumberType::float32;
  if (kind == 'f' && bytes == 8) return NumberType::float64;
  const bool maybe_bfloat16 = kind == 'V' && bytes == 2;
  throw_invalid_argument(
      "calibration::number_type",
      maybe_bfloat16 ? "the numbers have no type, as bfloat16 in a file of NumPy has none"
                     : "the numbers are no scores",
      detail::name_of_type(kind, bytes),
      maybe_bfloat16 ? "float16, float32 or float64: save scores.astype(\"float32\")" : "float16, float32 or float64");
}

/// An IEEE half-precision number, given by its 16 bits. Without branches, so that loops over it vectorize.
///
/// \f[ \pm 2^{e-25} (1024 + m)\ (0 < e < 31),\qquad \pm 2^{-24} m\ (e = 0),\qquad \pm\infty\text{ or NaN}\ (e = 31) \f]
///
/// The exponent and the mantissa are moved to their places in a float, whose exponent is then too small by 112.
///
/// Source    IEEE 754-2019, 3.4 binary16.
/// Units     those of the number.
/// Domain    all 65536 patterns.
/// Accuracy  exact: tests/calibration/score_array.cpp.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  const std::uint32_t bits = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U : finite;
  return std::bit_cast<float>(bits | (half & 0x8000U) << 16);
}

/// A number in bfloat16, given by its 16 bits: the first half of a float.
///
/// Units     those of the number.
/// Domain    all 65536 patterns.
/// Accuracy  exact: tests/calibration/score_array.cpp.
inline float float_of_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Scores of layers x heads x queries x keys in memory. A missing leading dimension has size 1.
///
/// Shapes    data: shape[0] * shape[1] * shape[2] * shape[3] numbers of that type, strides[i] bytes apart.
/// Units     of the scores.
struct ScoreArray {
  const void* data = nullptr;
  NumberType type = NumberType::float64;
  bool other_byte_order = false;  ///< whether the bytes of each number are in the order this machine does not use
  std::array<std::int64_t, 4> shape{1, 1, 1, 1};
  std::array<std::int64_t, 4> strides{};

  std::int64_t layers() const { return shape[0]; }
  std::int64_t heads() const { return shape[1]; }
  std::int64_t queries() const { return shape[2]; }
  std::int64_t keys() const { return shape[3]; }
};

/// An array without gaps: C order has the keys of a query side by side, Fortran order the layers.
///
/// `type` is the type of the numbers at `data`, and `other_byte_order` says that their bytes are reversed.
///
/// Shapes    dimensions: 1 (keys) to 4 (layers, heads, queries, keys) sizes.
/// Errors    std::invalid_argument for another number of dimensions or an empty one.
inline ScoreArray dense_scores(const void* data, NumberType type, std::span<const std::int64_t> dimensions,
                               bool fortran_order = false, bool other_byte_order = false) {
  constexpr auto where = "calibration::dense_scores";
  if (dimensions.empty() || dimensions.size() > 4) {
    throw_invalid_argument(where, "wrong number of array dimensions", dimensions.size(),
                           "1 to 4: layers x heads x queries x keys, or fewer");
  }
  ScoreArray scores{.data = data, .type = type, .other_byte_order = other_byte_order};
  const std::size_t missing = 4 - dimensions.size();
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    require_at_least(where, "a dimension", dimensions[i], std::int64_t{1});
    scores.shape[missing + i] = dimensions[i];
  }
  std::int64_t stride = size_of(type);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t dimension = fortran_order ? i : 3 - i;
    scores.strides[dimension] = stride;
    stride *= scores.shape[dimension];
  }
  return scores;
}

/// The scores of one head of an array.
///
/// Errors    std::invalid_argument for a layer or a head that is not there.
inline ScoreArray one_head(const ScoreArray& scores, std::int64_t layer, std::int64_t head) {
  constexpr auto where = "calibration::one_head";
  if (!(0 <= layer && layer < scores.layers())) {
    throw_invalid_argument(where, "layer is not there", layer, "0 to " + std::to_string(scores.layers() - 1));
  }
  if (!(0 <= head && head < scores.heads())) {
    throw_invalid_argument(where, "head is not there", head, "0 to " + std::to_string(scores.heads() - 1));
  }
  ScoreArray one = scores;
  one.data = static_cast<const std::byte*>(scores.data) + layer * scores.strides[0] + head * scores.strides[1];
  one.shape[0] = one.shape[1] = 1;
  return one;
}

namespace detail {

/// The same head in every prompt.
inline std::vector<ScoreArray> one_head_of_each(std::span<const ScoreArray> prompts, std::int64_t layer,
                                                std::int64_t head) {
  std::vector<ScoreArray> one;
  one.reserve(prompts.size());
  for (const ScoreArray& scores : prompts) one.push_back(one_head(scores, layer, head));
  return one;
}

/// A number of type Bits that is read from bytes at any address.
template <class Bits, bool swapped>
Bits bits_at(const std::byte* place) {
  Bits bits;
  std::memcpy(&bits, place, sizeof bits);
  if constexpr (swapped) {
    if constexpr (sizeof bits == 2) return __builtin_bswap16(bits);
    if constexpr (sizeof bits == 4) return __builtin_bswap32(bits);
    if constexpr (sizeof bits == 8) return __builtin_bswap64(bits);
  }
  return bits;
}

template <bool swapped>
double number_at(const std::byte* place, NumberType type) {
  if (type == NumberType::float16) return float_of_half(bits_at<std::uint16_t, swapped>(place));
  if (type == NumberType::bfloat16) return float_of_bfloat16(bits_at<std::uint16_t, swapped>(place));
  if (type == NumberType::float32) return std::bit_cast<float>(bits_at<std::uint32_t, swapped>(place));
  return std::bit_cast<double>(bits_at<std::uint64_t, swapped>(place));
}

/// Copies the first `keys` keys of each of `row_count` rows to `out`, row after row. If the keys of a row are not side
/// by side in memory, the rows may be, and all rows are read together, key by key.
template <bool swapped>
void read_rows(const std::byte* const* rows, std::int64_t row_count, std::int64_t keys, std::int64_t stride,
               NumberType type, double* out) {
  if (stride != size_of(type)) {
    for (std::int64_t k = 0; k < keys; ++k) {
      for (std::int64_t r = 0; r < row_count; ++r) {
        out[r * keys + k] = number_at<swapped>(rows[r] + k * stride, type);
      }
    }
    return;
  }
  for (std::int64_t r = 0; r < row_count; ++r) {  // one loop per type, so that each vectorizes
    double* const to = out + r * keys;
    const std::byte* const row = rows[r];
    if (type == NumberType::float16) {
      for (std::int64_t k = 0; k < keys; ++k) to[k] = float_of_half(bits_at<std::uint16_t, swapped>(row + 2 * k));
    } else if (type == NumberType::bfloat16) {
      for (std::int64_t k = 0; k < keys; ++k) to[k] = number_at<swapped>(row + 2 * k, NumberType::bfloat16);
    } else if (type == NumberType::float32) {
      for (std::int64_t k = 0; k < keys; ++k) to[k] = number_at<swapped>(row + 4 * k, NumberType::float32);
    } else {
      for (std::int64_t k = 0; k < keys; ++k) to[k] = number_at<swapped>(row + 8 * k, NumberType::float64);
    }
  }
}

}  // namespace detail

/// One score of the first layer's first head, as a double.
///
/// Units     of the scores.
/// Domain    0 <= query < queries, 0 <= key < keys, which is not checked.
inline double score_at(const ScoreArray& scores, std::int64_t query, std::int64_t key) {
  const std::byte* const place =
      static_cast<const std::byte*>(scores.data) + query * scores.strides[2] + key * scores.strides[3];
  return scores.other_byte_order ? detail::number_at<true>(place, scores.type)
                                 : detail::number_at<false>(place, scores.type);
}

}  // namespace incontext::calibration
