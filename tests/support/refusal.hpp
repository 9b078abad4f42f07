#pragma once

#include <exception>
#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace incontext::testing {

/// What a call that must throw an `Error` says; empty if it throws nothing. Any other exception fails the test.
template <class Error = std::exception, class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Whether a message says what it should; if not, a failing CHECK prints what is wrong with it.
class Naming {
 public:
  Naming(const std::string& message, std::initializer_list<std::string_view> parts) {
    if (message.empty()) problem_ = "nothing was refused";
    for (const std::string_view part : parts) {
      if (!problem_.empty() || message.find(part) != std::string::npos) continue;
      problem_ = "'" + std::string(part) + "' is not in: " + message;
    }
  }

  explicit operator bool() const { return problem_.empty(); }
  friend std::ostream& operator<<(std::ostream& out, const Naming& naming) {
    return out << (naming.problem_.empty() ? "named" : naming.problem_);
  }

 private:
  std::string problem_ = {};
};

/// Whether there is a message, and it names every part.
template <class... Parts>
Naming names(const std::string& message, const Parts&... parts) {
  return {message, {std::string_view(parts)...}};
}

/// Whether a call is refused by an `Error` whose message names every part.
template <class Error = std::domain_error, class Call>
Naming refuses(const Call& call, std::initializer_list<std::string_view> parts) {
  return {message_of<Error>(call), parts};
}

}  // namespace incontext::testing
