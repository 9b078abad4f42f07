#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "examples/verify/claim.hpp"

namespace incontext::examples::verify {

const std::vector<Claim>& all_claims() {
  static const std::vector<Claim> claims = [] {
    std::vector<Claim> all;
    const auto add = [&all](Paper paper, std::vector<Claim> claims) {
      for (Claim& claim : claims) {
        claim.paper = paper;
        all.push_back(std::move(claim));
      }
    };
    add(Paper::temperature, temperature_claims());
    add(Paper::kernel_descent, kernel_descent_claims());
    add(Paper::scalable_softmax, scalable_softmax_claims());
    add(Paper::signed_averaging, signed_averaging_claims());
    add(Paper::normsoftmax, normsoftmax_claims());
    return all;
  }();
  return claims;
}

const Command& command_named(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return command;
  }
  throw std::logic_error("no command is named '" + std::string(name) + "'");
}

const std::string& line_of(const Command& command, Edition edition) {
  return edition == Edition::full && !command.full.empty() ? command.full : command.quick;
}

Claim in_edition(Claim claim, Edition edition) {
  for (const std::string& name : claim.commands) {
    if (!line_of(command_named(name), edition).empty()) continue;
    claim.expected = Outcome::untested;
    claim.reason = "its training takes minutes, and incontext-verify --claim " + claim.id + " --edition full runs it";
    claim.commands.clear();
    break;
  }
  return claim;
}

std::string arxiv_number(Paper paper) {
  switch (paper) {
    case Paper::temperature:
      return "2511.01292";
    case Paper::kernel_descent:
      return "2510.10425";
    case Paper::scalable_softmax:
      return "2501.19399";
    case Paper::signed_averaging:
      return "2508.14685";
    case Paper::normsoftmax:
      break;
  }
  return "2310.12956";
}

std::string title_of(Paper paper) {
  switch (paper) {
    case Paper::temperature:
      return "Optimal attention temperature";
    case Paper::kernel_descent:
      return "Attention as kernel gradient descent";
    case Paper::scalable_softmax:
      return "Scalable-Softmax";
    case Paper::signed_averaging:
      return "Scaled signed averaging";
    case Paper::normsoftmax:
      break;
  }
  return "NormSoftmax and Heat Treatment";
}

std::string word_of(Paper paper) {
  switch (paper) {
    case Paper::temperature:
      return "temperature";
    case Paper::kernel_descent:
      return "kernel-descent";
    case Paper::scalable_softmax:
      return "scalable-softmax";
    case Paper::signed_averaging:
      return "signed-averaging";
    case Paper::normsoftmax:
      break;
  }
  return "normsoftmax";
}

std::string word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::confirmed:
      return "confirmed";
    case Outcome::refined:
      return "refined";
    case Outcome::refuted:
      return "refuted";
    case Outcome::untested:
      return "untested";
    case Outcome::out_of_reach:
      break;
  }
  return "out of reach";
}

}  // namespace incontext::examples::verify
