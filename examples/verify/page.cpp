#include "examples/verify/page.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "examples/support/render.hpp"
#include "examples/verify/claims_file.hpp"
#include "examples/verify/rules.hpp"

namespace incontext::examples::verify {

std::string page_of(const Report& report, const Registry& registry) {
  using nlohmann::ordered_json;
  ordered_json papers = ordered_json::array(), formulas = ordered_json::object(), meanings = ordered_json::object();
  for (const auto& [outcome, word] : outcome_words) meanings[word] = meaning_of(outcome);
  for (const Paper& paper : registry.papers) {
    papers.push_back({{"arxiv", paper.arxiv},
                      {"title", paper.title},
                      {"authors", paper.authors},
                      {"text", paper.text},
                      {"theorems", paper.theorems},
                      {"word", paper.word}});
  }
  for (const Claim& claim : registry.claims) {
    if (!claim.formula.empty()) formulas[claim.id] = claim.formula;
  }
  const ordered_json data{{"report", ordered_json::parse(render_json(report))},
                          {"papers", papers},
                          {"formulas", formulas},
                          {"meanings", meanings}};
  std::string json;
  for (const char c : data.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (c == '<') {  // no text of a paper ends the script that holds the data
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  constexpr std::string_view place = "@LEDGER@";
  std::string page = recorded_report("page.html");
  return page.replace(page.find(place), place.size(), json);
}

}  // namespace incontext::examples::verify
