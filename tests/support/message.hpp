#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace incontext::testing {

/// What a call that must throw says; empty if it does not throw.
template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

/// Whether a message names every part.
template <class... Parts>
bool names(std::string_view message, const Parts&... parts) {
  return ((message.find(parts) != std::string_view::npos) && ...);
}

}  // namespace incontext::testing
