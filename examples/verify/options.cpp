#include "examples/verify/options.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "examples/verify/claims_file.hpp"

namespace incontext::examples::verify {

namespace {

/// The file of a report and, unless it is a device, that of a report that is not complete.
std::vector<std::string> with_partial(const std::string& file) {
  std::error_code error;
  const bool is_device = std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error);
  return is_device ? std::vector{file} : std::vector{file, partial_file(file)};
}

[[noreturn]] void refuse(const std::string& option, const std::string& what, const std::string& value,
                         const std::vector<std::string>& known, const std::string& otherwise) {
  const std::string nearest = nearest_word(value, known);
  if (nearest.empty()) throw_input_error(option, what, value, otherwise);
  throw InputError(option + ": " + what + " (value = " + shown(value) + "; did you mean " + nearest + "?)");
}

void require_paper(const Registry& registry, const std::string& word) {
  std::vector<std::string> known;
  for (const Paper& paper : registry.papers) {
    if (word == paper.word || word == paper.arxiv) return;
    known.insert(known.end(), {paper.word, paper.arxiv});
  }
  refuse("--paper", "is no paper of the ledger", word, known, "an arXiv number or a word that --list shows");
}

void require_claim(const Registry& registry, const std::string& id) {
  std::vector<std::string> known;
  for (const Claim& claim : registry.claims) {
    if (claim.id == id) return;
    known.push_back(claim.id);
  }
  std::string of_papers;  // whose page leaves their name out
  for (const std::string& one : known) {
    if (one.ends_with("/" + id)) of_papers += (of_papers.empty() ? "" : " or ") + one;
  }
  if (!of_papers.empty()) throw_input_error("--claim", "lacks its paper", id, of_papers);
  refuse("--claim", "is no claim of the ledger", id, known, "one of those that --list shows");
}

/// The claims of the file that the options name, else those of the program.
Registry registry_of(const VerifyOptions& o) {
  if (o.claims_file.empty()) return read_claims(built_in_claims());
  return read_claims({{o.claims_file, read_whole_file(o.claims_file)}});
}

/// A claim as the edition has it.
Claim in_edition(Claim claim, const Registry& registry, Edition edition) {
  for (const std::string& name : claim.runs()) {
    const Command& command = registry.command(name);
    if (!line_of(command, edition).empty() || !command.recorded.empty()) continue;
    claim.not_tried = "its runs take minutes: incontext verify --claim " + claim.id + " --edition full";
    break;
  }
  return claim;
}

}  // namespace

void add_verify_options(CLI::App& app, VerifyOptions& o) {
  add_choice<Edition>(app, "--edition", o.edition, "quick: 3 minutes on 2 cores; full: more trials, under 30",
                      {{"quick", Edition::quick}, {"full", Edition::full}});
  const auto read_ids = [&o](const std::string& text) { o.claims = parse_list(text); };
  add_read(app, "--claim", read_ids, "Only these claims", "ID,ID,...");
  const auto read_papers = [&o](const std::string& text) { o.papers = parse_list(text); };
  add_read(app, "--paper", read_papers, "Only the claims of these papers: a word of --list, or an arXiv number",
           "WORD,WORD,...");
  show_no_default(add_input(app, "--claims-file", o.claims_file,
                            "Claims of one's own, or changed ones, in the place of the program's; docs/claims.md says "
                            "how to write them",
                            "FILE.toml"));
  add_flag(app, "--list", o.list, "List the claims and run nothing");
  add_flag(app, "--print-claims", o.print_claims,
           "Print the file of a paper's claims, to be changed and tried by --claims-file");
  head_options(app, "Claims");
  add_count<std::uint64_t>(app, "--seed", o.seed, "Seed of every simulation", 0);
  show_no_default(
      add_count<std::int64_t>(app, "--jobs", o.jobs, "Programs that run at a time; default: one per core", 1, 1024));
  head_options(app, "Run");
  add_run_output_options(app, o.output);
  show_no_default(add_written(app, "--page", o.page, "Write the report as one HTML page, with a plot per claim",
                              "FILE.html", with_partial));
  head_options(app, "Output");
}

UnusedOptions complete(const CLI::App& app, VerifyOptions& o) {
  UnusedOptions unused(app);
  if (o.list) unused.add("--list", {"--seed", "--jobs", "--page", "--audit"});
  if (o.print_claims) {
    unused.add("--print-claims", {"--list", "--edition", "--seed", "--jobs", "--page", "--audit", "--output",
                                  "--format", "--quiet", "--replace-by-partial"});
  }
  if (o.output.format != Format::table) unused.add("--format csv or json", {"--audit"});
  o.registry = registry_of(o);
  for (const std::string& id : o.claims) require_claim(o.registry, id);
  for (const std::string& word : o.papers) require_paper(o.registry, word);
  if (o.jobs == 0) o.jobs = std::max<std::int64_t>(std::thread::hardware_concurrency(), 1);
  if (!o.page.empty() && !o.page.ends_with(".html")) {
    throw_input_error("--page", "is not the name of a page", o.page, "a name that ends in .html");
  }
  return unused;
}

std::vector<Claim> claims_of(const VerifyOptions& o) {
  std::vector<Claim> chosen;
  const auto within = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  for (const Claim& claim : o.registry.claims) {
    const Paper& paper = o.registry.papers[claim.paper];
    const bool is_of_papers = o.papers.empty() || within(o.papers, paper.word) || within(o.papers, paper.arxiv);
    if (is_of_papers && (o.claims.empty() || within(o.claims, claim.id))) {
      chosen.push_back(in_edition(claim, o.registry, o.edition));
    }
  }
  if (chosen.empty()) throw InputError("--claim: none of these claims is of --paper (needs a claim of that paper)");
  return chosen;
}

std::string claims_text(const VerifyOptions& o) {
  const std::vector<Claim> claims = claims_of(o);
  const std::size_t paper = claims.front().paper;
  for (const Claim& claim : claims) {
    if (claim.paper != paper) throw InputError("--print-claims: needs one paper, by --paper or --claim");
  }
  return o.claims_file.empty() ? built_in_claims()[paper].text : read_whole_file(o.claims_file);
}

}  // namespace incontext::examples::verify
