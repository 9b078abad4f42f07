#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace incontext::testing {

/// Calls what should be refused and looks for each fragment in the message: "" if all are there, else what is wrong.
template <class Call>
std::string refusal(Call call, const std::vector<std::string>& fragments) {
  try {
    call();
  } catch (const std::logic_error& error) {
    const std::string_view message = error.what();
    for (const std::string& fragment : fragments) {
      if (message.find(fragment) == std::string_view::npos) {
        return "'" + fragment + "' is not in: " + std::string(message);
      }
    }
    return "";
  }
  return "nothing was refused";
}

}  // namespace incontext::testing
