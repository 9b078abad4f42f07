#include "examples/support/text.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"

namespace text_test {

using namespace incontext::examples;
using incontext::testing::message_of;
using incontext::testing::part;

TEST_CASE("a message is one line of UTF-8 without control characters for every quoted value", "[text]") {
  CHECK(one_line("first\nsecond\n") == "first second");
  CHECK(one_line("\033[31mred\tτ*") == "?[31mred τ*");
  CHECK(one_line("caf\xe9 ok") == "caf? ok");  // Latin-1
  CHECK(one_line("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82") == "é€🙂");
  CHECK(one_line("a\xC2\x9B"
                 "31m") == "a??31m");  // a control sequence of one character, U+009B
  CHECK(one_line("\xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80 \xE2\x82") ==
        "?? ??? ???? ??");  // overlong, surrogate, too far, cut
  CHECK(one_line("") == "");
  CHECK(one_line(" \n\n") == "");
}

TEST_CASE("a long value is quoted by its first characters, which are never cut in half", "[text]") {
  CHECK(shown(std::string(60, 'x')) == std::string(60, 'x'));
  CHECK(shown(std::string(61, 'x')) == std::string(60, 'x') + "...");
  CHECK(shown(std::string(1 << 20, 'x')).size() == 63);
  std::string euros, sixty;
  for (int i = 0; i < 60; ++i) sixty += "€";
  for (int i = 0; i < 1000; ++i) euros += "€";
  CHECK(shown(sixty) == sixty);
  CHECK(shown(euros) == sixty + "...");
  CHECK(shown("€€€", 2) == "€€...");
  CHECK(shown(std::string(300, '\xff')) == std::string(60, '?') + "...");
}

TEST_CASE("a refusal cuts the value and keeps what is needed", "[text]") {
  const std::string sevens(1 << 20, '7');
  CHECK(message_of<InputError>([&] { throw_input_error("--gap", "is not a number", sevens, "a finite number"); }) ==
        "--gap: is not a number (value = " + std::string(60, '7') + "...; needs a finite number)");
}

TEST_CASE("a file that cannot be read is refused by its name and the system's reason", "[text]") {
  const auto refusal = [](const std::string& path) { return message_of<InputError>([&] { read_whole_file(path); }); };
  CHECK(refusal("/no/such/file") ==
        "/no/such/file: cannot be opened: No such file or directory (needs a readable file)");
  CHECK(refusal("/") == "/: cannot be read: Is a directory (needs a readable file)");
  CHECK(refusal("") == part("cannot be opened"));
}

}  // namespace text_test
