#include "examples/support/npy.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

/// Reads the header's Python dictionary, whose keys come in any order.
class NpyHeaderParser {
 public:
  NpyHeaderParser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    int seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        read_descr(header);
        seen |= 1;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        seen |= 2;
      } else if (key == "shape") {
        header.shape = tuple();
        seen |= 4;
      } else {
        malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (seen != 7) malformed();
    return header;
  }

 private:
  [[noreturn]] void malformed() const {
    throw_input_error(file_, "malformed .npy header", trimmed(text_), "a dictionary of descr, fortran_order and shape");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }
  std::string quoted() {
    skip_blanks();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) malformed();
    const char mark = text_[at_++];
    const std::size_t end = text_.find(mark, at_);
    if (end == std::string_view::npos) malformed();
    std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }
  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    }
    malformed();
  }
  std::vector<std::size_t> tuple() {
    std::vector<std::size_t> shape;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::size_t value = 0;
      const std::size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        if (value > (std::numeric_limits<std::size_t>::max() >> 8)) malformed();
        value = 10 * value + static_cast<std::size_t>(text_[at_++] - '0');
      }
      if (at_ == first) malformed();
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote it
      shape.push_back(value);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  void read_descr(NpyHeader& header) {
    skip_blanks();
    if (at_ < text_.size() && text_[at_] == '[') {
      throw InputError(file_ + ": holds records with named fields (needs a plain array of numbers)");
    }
    const std::string written = quoted();
    const bool has_order = written.empty() || std::isalpha(static_cast<unsigned char>(written[0])) == 0;
    const std::string descr = has_order ? written : "=" + written;
    const bool known = descr.size() >= 2 && std::string("<>|=").find(descr[0]) != std::string::npos;
    const std::string size = known ? descr.substr(2) : "";
    if (!known || size.size() > 4 || size.find_first_not_of("0123456789") != std::string::npos) {
      throw_input_error(file_, "holds numbers of an unknown type", written, "such as <f4");
    }
    header.byte_order = descr[0];
    header.kind = descr[1];
    header.item_size = size.empty() ? 0 : std::stoul(size);
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
};

/// IEEE half precision, in which attention scores are often saved.
double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25));
}

template <class Stored>
double load(const char* bytes) {
  Stored value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

double npy_number(const NpyHeader& header, const char* bytes) {
  char ordered[8] = {};
  std::memcpy(ordered, bytes, header.item_size);
  if (header.is_swapped()) std::reverse(ordered, ordered + header.item_size);
  switch (header.kind) {
    case 'f':
      if (header.item_size == 2) {
        std::uint16_t bits;
        std::memcpy(&bits, ordered, 2);
        return half_to_double(bits);
      }
      return header.item_size == 4 ? load<float>(ordered) : load<double>(ordered);
    case 'i':
      return header.item_size == 1   ? load<std::int8_t>(ordered)
             : header.item_size == 2 ? load<std::int16_t>(ordered)
             : header.item_size == 4 ? load<std::int32_t>(ordered)
                                     : load<std::int64_t>(ordered);
    default:
      return header.item_size == 1   ? load<std::uint8_t>(ordered)
             : header.item_size == 2 ? load<std::uint16_t>(ordered)
             : header.item_size == 4 ? load<std::uint32_t>(ordered)
                                     : load<std::uint64_t>(ordered);
  }
}

void require_real_numbers(const std::string& file, const NpyHeader& header) {
  const std::string sizes = header.kind == 'f' ? "248" : header.kind == 'b' ? "1" : "1248";
  const bool one_digit = 0 < header.item_size && header.item_size < 10;
  if (std::string("fiub").find(header.kind) != std::string::npos && one_digit &&
      sizes.find(static_cast<char>('0' + header.item_size)) != std::string::npos) {
    return;
  }
  throw_input_error(
      file, "holds numbers of an unknown type",
      std::string{header.byte_order, header.kind} + (header.item_size > 0 ? std::to_string(header.item_size) : ""),
      "f2, f4, f8, i1 to i8, u1 to u8 or b1, little or big endian; bfloat16 as .astype(numpy.float32)");
}

void require_matrix(const std::string& file, const NpyHeader& header) {
  if (header.shape.empty()) throw InputError(file + ": holds a single number (needs an array of 1 or 2 dimensions)");
  if (header.shape.size() <= 2) return;
  throw_input_error(file, "wrong number of array dimensions", sizes_of(header.shape),
                    std::string("1 or 2: np.save one matrix of it, such as ") +
                        (header.shape.size() == 3 ? "array[0]" : "array[0, 0]") + ", a file for each head");
}

}  // namespace

void refuse_zip(const std::string& file, std::string_view bytes) {
  if (bytes.substr(0, 4) != std::string_view("PK\x03\x04", 4)) return;
  // the name of an archive's first member follows its header of 30 bytes
  const bool arrays = bytes.substr(0, 300).find(".npy") != std::string_view::npos;
  throw InputError(file + (arrays || file.ends_with(".npz")
                               ? ": is a zip of arrays, .npz (needs one array: np.save it as .npy)"
                               : ": is a zip archive (needs .csv or .npy)"));
}

bool is_npy(const std::string& file, std::string_view bytes) {
  return bytes.substr(0, 6) == "\x93NUMPY" || file.ends_with(".npy");
}

bool NpyHeader::is_swapped() const {
  const bool big = byte_order == '>';
  return big != (std::endian::native == std::endian::big) && byte_order != '=' && byte_order != '|';
}

std::string sizes_of(const std::vector<std::size_t>& shape) {
  std::string sizes;
  for (const std::size_t size : shape) sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
  return sizes;
}

NpyHeader parse_npy_header(const std::string& file, std::string_view bytes) {
  if (bytes.substr(0, 6) != "\x93NUMPY")
    throw InputError(file + ": is not an .npy file (its first bytes are not \\x93NUMPY)");
  const auto byte = [&](std::size_t i) {
    if (i >= bytes.size()) throw_input_error(file, ".npy header is cut off", bytes.size(), "more bytes");
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) throw_input_error(file, "unknown .npy version", version, "1, 2 or 3");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t header_size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) header_size |= byte(8 + i) << (8 * i);
  const std::size_t header_start = 8 + length_bytes;
  if (header_size > bytes.size() - header_start) {
    throw_input_error(file, ".npy header is cut off", bytes.size(),
                      std::to_string(header_start + header_size) + " bytes");
  }
  NpyHeader header = NpyHeaderParser(file, bytes.substr(header_start, header_size)).parse();
  header.data_start = header_start + header_size;
  return header;
}

Eigen::MatrixXd parse_npy(const std::string& file, std::string_view bytes, OneDimension vectors) {
  const NpyHeader header = parse_npy_header(file, bytes);
  require_real_numbers(file, header);
  require_matrix(file, header);
  const bool row = header.shape.size() == 1 && vectors == OneDimension::row;
  const std::size_t rows = row ? 1 : header.shape[0];
  const std::size_t columns = row ? header.shape[0] : header.shape.size() == 2 ? header.shape[1] : 1;
  if (rows == 0 || columns == 0) throw_input_error(file, "array is empty", rows * columns, "at least one number");
  const std::string_view data = bytes.substr(header.data_start);
  const std::string expected = std::to_string(rows) + " x " + std::to_string(columns) + " x " +
                               std::to_string(header.item_size) + " bytes of data";
  if (data.size() / header.item_size / columns < rows) {
    throw_input_error(file, "data is cut off", data.size(), expected);
  }
  Eigen::MatrixXd values(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t offset = header.fortran_order ? j * rows + i : i * columns + j;
      values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          npy_number(header, data.data() + offset * header.item_size);
    }
  }
  return values;
}

Eigen::MatrixXd read_npy(const std::string& path) { return parse_npy(path, read_whole_file(path)); }

namespace {

/// Version 1, little-endian, C order.
template <class Number>
std::string bytes_of(const std::string& type, const std::vector<Number>& values,
                     const std::vector<std::int64_t>& shape) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < shape.size(); ++i) header += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // NumPy aligns the data to 64 bytes
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  for (const Number& value : values) {
    char number[8];
    std::memcpy(number, &value, 8);
    if constexpr (std::endian::native == std::endian::big) std::reverse(number, number + 8);
    bytes.append(number, 8);
  }
  return bytes;
}

}  // namespace

std::string npy_bytes(const std::vector<double>& values, const std::vector<std::int64_t>& shape) {
  return bytes_of("<f8", values, shape);
}

std::string npy_bytes(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& shape) {
  return bytes_of("<i8", values, shape);
}

std::string npy_bytes(const Eigen::MatrixXd& values) {
  std::vector<double> rows;
  rows.reserve(static_cast<std::size_t>(values.size()));
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < values.cols(); ++j) rows.push_back(values(i, j));
  }
  return npy_bytes(rows, {values.rows(), values.cols()});
}

}  // namespace incontext::examples
