// Files and streams that the programs read and write: their state after an error, and equal reports for the same
// numbers in different formats.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "examples/support/npy.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace files_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

namespace {

const std::string temperature = in_shell("temperature") + " --trials 64 --device serial ";
const std::string scores = in_shell("scores") + " --row 1,2,3 ";

void check_refused(const Finished& finished, const std::string& expected) {
  CAPTURE(finished.output, finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part(expected));
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
}

/// The notes of a report's first table, joined in one line.
std::string notes_of(const Json& report) {
  std::string notes;
  for (const Json& note : report["tables"][0]["notes"]) notes += note.get<std::string>() + ' ';
  return notes;
}

/// Two reports without their titles, which name the files.
Json rows_of(const Json& report) { return report["tables"][0]["rows"]; }

}  // namespace

TEST_CASE("what a slow machine prints of durations is no error", "[programs]") {
  const std::string told = "long: 1000 trials, which take about 5 min\n", error = "incontext: --seed: is no number\n";
  CHECK(without_durations(told + error) == error);
  CHECK(without_durations(error + "long: nothing is finished after 61 s\n") == error);
  CHECK(without_durations("no line end") == "no line end");
  CHECK(without_durations(told).empty());
}

TEST_CASE("every subcommand's help has examples, and help or a version that cannot be shown is a failure", "[files]") {
  for (const std::string& program : all_subcommands()) {
    CAPTURE(program);
    const Finished help = run_program(program, {"--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.output == part("Usage: incontext " + program + " "));
    const std::size_t examples = help.output.find("\nExample");
    REQUIRE(examples != std::string::npos);
    CHECK(help.output.substr(examples) == part("incontext " + program));
    CHECK(help.errors.empty());
    for (const std::string option : {"--help", "--version"}) {
      check_refused(run_command(in_shell(program) + " " + option + " >/dev/full"),
                    "standard output: cannot be written: No space left on device");
      check_refused(run_command(in_shell(program) + " " + option + " >&-"),
                    "standard output: cannot be written: Bad file descriptor");
    }
  }
}

TEST_CASE("a report that cannot be written is a failure, on a full disk and past a limit of size", "[files]") {
  const TemporaryFolder folder;
  const std::string in_folder = "cd " + shell_quoted(folder.file("")) + " && ulimit -f 1 && ";
  check_refused(run_command(scores + "--output /dev/full"), "--output: cannot be written: No space left on device");
  check_refused(run_command(scores + ">/dev/full"), "standard output: cannot be written: No space left on device");
  check_refused(run_command(scores + ">&-"), "standard output: cannot be written: Bad file descriptor");
  check_refused(run_command(scores + "--weights /dev/full --quiet"), "--weights: cannot be written: No space left");
  check_refused(run_command(in_folder + scores + "--format json --output report"),
                "--output: cannot be written: File too large (value = report; needs a writable file)");
  check_refused(run_command(in_folder + scores + "--format json >report"),
                "standard output: cannot be written: File too large");
  check_refused(run_command(in_folder + temperature + "--format json --output other"), "File too large");
  check_refused(run_command(in_folder + in_shell("classify") +
                            " --rule linear --rate 1 --trials 16 --quiet --contexts c.npy --device serial"),
                "--contexts: cannot be written: File too large");
  CHECK(folder.names() == Names{"report"});  // the shell creates it
}

TEST_CASE("a closed pipe ends a program by SIGPIPE, and is an error of writing if that signal is ignored", "[files]") {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  ::close(pipe[0]);
  const int write_end = 9;  // a shell's redirection takes one digit
  REQUIRE(::dup2(pipe[1], write_end) == write_end);
  ::close(pipe[1]);
  const Finished ended = run_command(scores + ">&9");
  CHECK(ended.exit_code == 128 + SIGPIPE);
  CHECK(ended.errors.empty());
  check_refused(run_command("trap '' PIPE; " + scores + ">&9"), "standard output: cannot be written: Broken pipe");
  // a report to a file is complete by then
  const TemporaryFolder folder;
  const Finished saved = run_command(temperature + "--output " + shell_quoted(folder.file("report.json")) + " >&9");
  CHECK(saved.exit_code == 128 + SIGPIPE);
  CHECK(Json::parse(content_of(folder.file("report.json")))["program"] == "incontext temperature");
  CHECK(folder.names() == Names{"report.json"});
  ::close(write_end);
}

TEST_CASE("without --format the name of the output sets the form of the report", "[files]") {
  const TemporaryFolder folder;
  const auto written = [&](const std::string& name, const std::string& more = "") {
    REQUIRE(run_command(scores + "--output " + shell_quoted(folder.file(name)) + " " + more).exit_code == 0);
    return content_of(folder.file(name));
  };
  CHECK(written("x.csv").starts_with("table,key,score,weight"));
  CHECK(Json::parse(written("x.json"))["arguments"]["format"] == "json");
  CHECK(written("x.txt").starts_with("softmax, temperature 1: a row of 3 scores"));
  CHECK(written("y.json", "--format csv").starts_with("table,key,score,weight"));
  CHECK(written("y.csv", "--format table").starts_with("softmax, temperature 1"));
}

TEST_CASE("a replaced report keeps its access rights, and a link to a report remains a link", "[files]") {
  const TemporaryFolder folder;
  const std::string report = folder.write("report", "old");
  REQUIRE(::chmod(report.c_str(), 0600) == 0);
  REQUIRE(::symlink("report", folder.file("link").c_str()) == 0);
  REQUIRE(run_program("scores", {"--row", "1,2", "--output", folder.file("link")}).exit_code == 0);
  struct stat status = {};
  REQUIRE(::lstat(report.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  REQUIRE(::lstat(folder.file("link").c_str(), &status) == 0);
  CHECK(S_ISLNK(status.st_mode));
  CHECK(content_of(report) != "old");
}

TEST_CASE("temporary files that killed runs left behind do not disturb later runs", "[files]") {
  const TemporaryFolder folder;
  std::string command =
      "cd " + shell_quoted(folder.file("")) + " && for i in $(seq 200); do : >report.incontext-$i; done; ";
  // a run with a process number of its own, as in a container
  command += ": >report.incontext-$$; exec " + scores + "--output report";
  CHECK(run_command("sh -c " + shell_quoted(command)).exit_code == 0);
  CHECK_FALSE(content_of(folder.file("report")).empty());
}

TEST_CASE("an invalid number of threads in the environment is refused with the variable's name", "[files]") {
  for (const std::string value : {"0", "-1", "many", "4,0", "1.5"}) {
    const Finished finished = run_command("OMP_NUM_THREADS=" + value + " " + temperature);
    CAPTURE(value, finished.errors);
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors == part("incontext temperature: OMP_NUM_THREADS: is "));
    CHECK(finished.output.empty());
  }
  for (const std::string value : {"1", "2,1", " 2 "}) {
    CHECK(run_command("OMP_NUM_THREADS='" + value + "' " + temperature).exit_code == 0);
  }
  CHECK(run_command("OMP_THREAD_LIMIT=0 " + temperature).errors == part("OMP_THREAD_LIMIT: is too small (value = 0;"));
}

TEST_CASE("a message about a value or cell of any length and bytes is one short line of text", "[files]") {
  const TemporaryFolder folder;
  const std::string long_cell = folder.write("long.csv", "a,b\n1," + std::string(3 << 20, 'x') + "\n2,3\n");
  const std::string bytes = folder.write("bytes.csv", "a,b\n1,\xff\xfe\x1b[31m\xc2\x9b\n2,3\n");
  const Finished runs[] = {run_program("temperature", {"--data", long_cell}),
                           run_program("temperature", {"--data", bytes}),
                           run_program("temperature", {"--figure", std::string(100000, '7')}),
                           run_program("temperature", {"--" + std::string(100000, 'o')})};
  for (const Finished& finished : runs) {
    check_refused(finished, "incontext ");
    CHECK(finished.errors.size() < 700);
    const auto printable = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
    CHECK(std::all_of(finished.errors.begin(), finished.errors.end(), printable));
  }
}

TEST_CASE("the same data set in different formats gives the same report, with a note on how it was read", "[files]") {
  const TemporaryFolder folder;
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  std::string plain = "a,b,y\n", pandas = ",a,b,y\n", shuffled = "Unnamed: 0,a,b,y\n", holes = "a,b,y\n";
  std::string german = "# gemessen\na;b;y\n", tabs = "a\tb\ty\t\n", text = "name,a,b,y\n";
  for (int i = 0; i < 40; ++i) {
    const auto cell = [&] { return std::to_string(std::round(1000 * normal(engine)) / 1000); };
    const std::string a = cell(), b = cell(), y = cell();
    const std::string row = a + "," + b + "," + y + "\n";
    const auto with_comma = [](std::string number) { return number.replace(number.find('.'), 1, ","); };
    plain += row;
    pandas += std::to_string(i) + "," + row;
    shuffled += std::to_string((7 * i + 3) % 40) + "," + row;
    holes += row + (i % 8 == 0 ? "NA," + b + "," + y + "\n" + a + "," + b + ",\n" : "");
    german += with_comma(a) + ";" + with_comma(b) + ";" + with_comma(y) + "\n";
    tabs += a + "\t" + b + "\t" + y + "\t\n";
    text += "n" + std::to_string(i) + "," + row;
  }
  const auto report = [&](const std::string& name, const std::string& content, Names more = {}) {
    Names arguments{"--data", folder.write(name, content), "--labels", "y", "--trials", "64", "--device", "serial"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return report_of("temperature", arguments);
  };
  const Json expected = report("plain.csv", plain);
  const auto check_same = [&](const Json& same, const std::string& note) {
    CHECK(rows_of(same) == rows_of(expected));
    CHECK(notes_of(same) == part(note));
  };
  check_same(report("pandas.csv", pandas), "The first column, without a name, numbers the rows and is left out.");
  check_same(report("shuffled.csv", shuffled), "The first column, Unnamed: 0, numbers the rows and is left out.");
  check_same(report("holes.csv", holes, {"--drop-missing"}), "--drop-missing left out 10 of 50 rows.");
  check_same(report("german.csv", german), "Numbers have a decimal comma.");
  check_same(report("tabs.csv", tabs), "");
  check_same(report("text.csv", text, {"--without", "name"}), "");
  check_same(report("plain.csv", plain, {"--drop-missing"}), "--drop-missing left out 0 of 40 rows.");
  CHECK(notes_of(expected).find("numbers the rows") == std::string::npos);
  const std::string bare = folder.write("bare.csv", plain.substr(plain.find('\n') + 1));
  CHECK(rows_of(report_of("temperature", {"--data", bare, "--no-header", "--labels", "3", "--trials", "64", "--device",
                                          "serial"})) == rows_of(expected));
}

TEST_CASE("scores under a causal mask have the same moment ratio whether the file or --causal masks them", "[files]") {
  const TemporaryFolder folder;
  Eigen::MatrixXd vectors(30, 4);
  std::mt19937_64 engine(2);
  std::normal_distribution<double> normal;
  for (double& entry : vectors.reshaped()) entry = normal(engine);
  const Eigen::MatrixXd dense = vectors * vectors.transpose();
  Eigen::MatrixXd masked = dense;
  std::string csv;
  double squares = 0, selves = 0;
  for (Eigen::Index i = 0; i < 30; ++i) {
    masked.row(i).tail(29 - i).setConstant(-INFINITY);
    if (i > 0) squares += dense.row(i).head(i).squaredNorm() / static_cast<double>(i) / 29;
    if (i > 0) selves += dense(i, i) / 29;
    for (Eigen::Index j = 0; j < 30; ++j) {
      char cell[40];
      std::snprintf(cell, sizeof cell, "%s%.17g", j == 0 ? "" : " ", masked(i, j));
      csv += cell;
    }
    csv += '\n';
  }
  const std::string dense_file = folder.write("dense.npy", incontext::examples::npy_bytes(dense));
  const Json by_option = report_of("temperature", {"--scores", dense_file, "--causal"});
  const double ratio = rows_of(by_option)[0]["value"];
  CHECK(std::abs(ratio / (squares / selves) - 1) < 1e-12);
  CHECK(notes_of(by_option) == part("see no other key or do not see themselves: 1 of 30 queries."));
  for (const std::string& file :
       {folder.write("masked.npy", incontext::examples::npy_bytes(masked)), folder.write("masked.txt", csv)}) {
    CHECK(rows_of(report_of("temperature", {"--scores", file})) == rows_of(by_option));
    // and incontext scores sees the same keys
    const Json rows = rows_of(report_of("scores", {"--scores", file}));
    for (std::size_t i = 0; i < 30; ++i) CHECK(rows[i]["visible"] == i + 1);
  }
  const Json unmasked = report_of("temperature", {"--scores", dense_file});
  CHECK(std::abs(rows_of(unmasked)[0]["value"].get<double>() - ratio) > 1e-3);  // power
}

TEST_CASE("an array of one dimension is one query in both programs that read scores", "[files]") {
  const TemporaryFolder folder;
  std::string vector = incontext::examples::npy_bytes(Eigen::MatrixXd::Ones(1, 4));
  vector.replace(vector.find("(1, 4), "), 8, "(4,),   ");
  const std::string file = folder.write("vector.npy", vector);
  const Json rows = rows_of(report_of("scores", {"--scores", file}));
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["visible"] == 4);
  check_refused(run_program("temperature", {"--scores", file, "--self-column", "1"}),
                "the number of queries is too small (value = 1;");
}

}  // namespace files_program_test
