#include "examples/support/npy.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "examples/support/data_table.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::testing::message_of;
using incontext::testing::part;

namespace {

/// The bytes of an .npy file with this header dictionary, written without the library's own writer.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  const std::string header = dictionary + '\n';
  std::string bytes("\x93NUMPY", 6);
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>((header.size() >> (8 * i)) & 255);
  return bytes + header + data;
}

template <class Number>
std::string raw(const std::vector<Number>& numbers, bool swapped = false) {
  std::string bytes;
  for (const Number number : numbers) {
    char buffer[sizeof number];
    std::memcpy(buffer, &number, sizeof number);
    if (swapped) std::reverse(buffer, buffer + sizeof number);
    bytes.append(buffer, sizeof number);
  }
  return bytes;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

std::string npy_refusal(const std::string& bytes) {
  return message_of<InputError>([&] { parse_npy("f.npy", bytes); });
}

}  // namespace

TEST_CASE("every number type, byte order and version of .npy reads as the same matrix", "[npy]") {
  const Eigen::MatrixXd expected = (Eigen::MatrixXd(2, 3) << 1, 2, 3, 4, 5, 6).finished();
  const std::vector<double> values{1, 2, 3, 4, 5, 6};
  const auto as = [&]<class Number>(Number) { return std::vector<Number>(values.begin(), values.end()); };
  const std::string shape = "(2, 3)";
  CHECK(parse_npy("f", npy(dictionary("<f8", shape), raw(values))) == expected);
  CHECK(parse_npy("f", npy(dictionary(">f8", shape), raw(values, true))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f4", shape), raw(as(float{})))) == expected);
  CHECK(parse_npy("f", npy(dictionary(">f4", shape), raw(as(float{}), true))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<i8", shape), raw(as(std::int64_t{})))) == expected);
  CHECK(parse_npy("f", npy(dictionary(">i2", shape), raw(as(std::int16_t{}), true))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<i4", shape), raw(as(std::int32_t{})))) == expected);
  CHECK(parse_npy("f", npy(dictionary("|i1", shape), raw(as(std::int8_t{})))) == expected);
  CHECK(parse_npy("f", npy(dictionary("|u1", shape), raw(as(std::uint8_t{})))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<u4", shape), raw(as(std::uint32_t{})))) == expected);
  const std::vector<std::uint16_t> halves{0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
  CHECK(parse_npy("f", npy(dictionary("<f2", shape), raw(halves))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f8", shape), raw(values), 2)) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f8", shape), raw(values), 3)) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f8", shape, "True"), raw(std::vector<double>{1, 4, 2, 5, 3, 6}))) == expected);
  CHECK(parse_npy("f", npy("{'shape': (2, 3), 'fortran_order': False, \"descr\": \"<f8\"}", raw(values))) == expected);
  // what np.load reads, too: a header of Python 2, a type without byte order, bytes behind the array
  CHECK(parse_npy("f", npy(dictionary("<f8", "(2L, 3L)"), raw(values))) == expected);
  CHECK(parse_npy("f", npy(dictionary("f8", shape), raw(values))) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f8", shape), raw(values) + "more")) == expected);
  CHECK(parse_npy("f", npy(dictionary("<f8", "(6,)"), raw(values))) ==
        Eigen::Map<const Eigen::VectorXd>(values.data(), 6));
}

TEST_CASE("half precision keeps subnormals, signs and infinities", "[npy]") {
  const std::string bytes =
      npy(dictionary("<f2", "(5,)"), raw(std::vector<std::uint16_t>{0x0001, 0x83FF, 0x7BFF, 0xFC00, 0x7E00}));
  const Eigen::MatrixXd values = parse_npy("f", bytes);
  CHECK(values(0) == std::ldexp(1.0, -24));
  CHECK(values(1) == -std::ldexp(1023.0, -24));
  CHECK(values(2) == 65504);
  CHECK(values(3) == -INFINITY);
  CHECK(std::isnan(values(4)));
}

TEST_CASE("what the writer writes the reader reads, bit by bit, and the data is aligned", "[npy]") {
  const Eigen::MatrixXd values = (Eigen::MatrixXd(3, 2) << 0.1, -0.0, 1e-320, 1e308, -1.0 / 3, 42).finished();
  const std::string bytes = npy_bytes(values);
  const Eigen::MatrixXd back = parse_npy("f.npy", bytes);
  REQUIRE(back.rows() == 3);
  REQUIRE(back.cols() == 2);
  CHECK(std::memcmp(values.data(), back.data(), 6 * sizeof(double)) == 0);
  CHECK((bytes.size() - 6 * sizeof(double)) % 64 == 0);
}

TEST_CASE("a damaged .npy file is refused in one clear line", "[npy]") {
  const std::string data = raw(std::vector<double>{1, 2, 3, 4, 5, 6});
  const std::string good = npy(dictionary("<f8", "(2, 3)"), data);
  REQUIRE(npy_refusal(good).empty());
  CHECK(npy_refusal("PK\x03\x04") == part("is not an .npy file"));
  CHECK(npy_refusal("") == part("is not an .npy file"));
  CHECK(npy_refusal(npy(dictionary("<f8", "(2, 3)"), data, 9)) == part("unknown .npy version (value = 9"));
  for (const std::size_t length : {7UL, 9UL, 10UL, 40UL}) {
    CAPTURE(length);
    CHECK(npy_refusal(good.substr(0, length)) == part(".npy header is cut off"));
  }
  CHECK(npy_refusal(good.substr(0, good.size() - 1)) ==
        "f.npy: data is cut off (value = 47; needs 2 x 3 x 8 bytes of data)");
  CHECK(npy_refusal(npy(dictionary("|V2", "(2, 3)"), data)) == part("bfloat16 as .astype(numpy.float32)"));
  CHECK(npy_refusal(npy(dictionary("<f8", "(0, 3)"), "")) == part("array is empty"));
  CHECK(npy_refusal(npy(dictionary("<f8", "()"), data)) == part("holds a single number"));
  CHECK(npy_refusal(npy(dictionary("<f8", "(1, 2, 3)"), data)) ==
        "f.npy: wrong number of array dimensions (value = 1 x 2 x 3; needs 1 or 2: np.save one matrix of it, such as "
        "array[0], a file for each head)");
  CHECK(npy_refusal(npy(dictionary("<f8", "(1, 1, 2, 3)"), data)) == part("such as array[0, 0]"));
  CHECK(npy_refusal(npy(dictionary("<f8", "(72057594037927936, 256)"), data)) == part("data is cut off"));
  CHECK(npy_refusal(npy(dictionary("<f8", "(99999999999999999999999, 4)"), data)) == part("malformed .npy header"));
  for (const char* descr : {"<c16", "|O", "<U5", "<f9", "<f16", "<i3", "?"}) {
    CAPTURE(descr);
    CHECK(npy_refusal(npy(dictionary(descr, "(2, 3)"), data)) == part(std::string("(value = ") + descr));
  }
  CHECK(npy_refusal(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (6,), }", data)) ==
        part("named fields"));
  for (const char* text : {"", "{", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (6,)}",
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (-6,)}",
                           "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)",
                           "{'color': 'red', 'descr': '<f8', 'fortran_order': False, 'shape': (6,)}"}) {
    CAPTURE(text);
    CHECK(npy_refusal(npy(text, data)) == part("malformed .npy header"));
  }
}

TEST_CASE("an array of one dimension is a column of data and a row of scores", "[npy]") {
  const std::string bytes = npy(dictionary("<f8", "(3,)"), raw(std::vector<double>{1, 2, 3}));
  CHECK(parse_npy("f", bytes).cols() == 1);
  CHECK(parse_npy("f", bytes, OneDimension::row) == Eigen::RowVector3d(1, 2, 3));
  // a matrix of one column is one column either way
  const std::string column = npy(dictionary("<f8", "(3, 1)"), raw(std::vector<double>{1, 2, 3}));
  CHECK(parse_npy("f", column, OneDimension::row).rows() == 3);
}

TEST_CASE("a zip archive is recognized by its first bytes, .npz by its members", "[npy]") {
  const auto refusal = [](const std::string& file, const std::string& bytes) {
    return message_of<InputError>([&] { refuse_zip(file, bytes); });
  };
  const std::string start("PK\x03\x04", 4);
  CHECK(refusal("f", start + std::string(26, '\0') + "arr_0.npy") == part("is a zip of arrays, .npz (needs one array"));
  CHECK(refusal("f.npz", start) == part("is a zip of arrays"));
  CHECK(refusal("f.csv", start + "xl/workbook.xml") == part("is a zip archive (needs .csv or .npy)"));
  CHECK(refusal("f.npz", "a,b\n").empty());
}
