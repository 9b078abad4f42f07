// The functions of the page, for Emscripten. A text that is returned stays valid until the next call.

#include <emscripten/emscripten.h>

#include "docs/explorer/session.hpp"

namespace {

const char* kept(std::string text) {
  static std::string last;
  last = std::move(text);
  return last.c_str();
}

}  // namespace

extern "C" {

EMSCRIPTEN_KEEPALIVE const char* explorer_describe() { return kept(incontext::explorer::describe()); }

EMSCRIPTEN_KEEPALIVE const char* explorer_theory(const char* panel, const char* settings) {
  return kept(incontext::explorer::theory(panel, settings));
}

EMSCRIPTEN_KEEPALIVE const char* explorer_start(const char* panel, const char* settings, int seed) {
  return kept(incontext::explorer::start(panel, settings, static_cast<std::uint64_t>(seed)));
}

EMSCRIPTEN_KEEPALIVE const char* explorer_step(int trials) { return kept(incontext::explorer::step(trials)); }

EMSCRIPTEN_KEEPALIVE const char* explorer_verdict() { return kept(incontext::explorer::verdict()); }
}
