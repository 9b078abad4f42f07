#pragma once

#include <string_view>

/// The commit and the build options of these programs; part of every result.
namespace incontext::bench {

#if defined(__clang__)
inline constexpr std::string_view build_compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
inline constexpr std::string_view build_compiler = "g++ " __VERSION__;
#else
inline constexpr std::string_view build_compiler = "unknown";
#endif
inline constexpr std::string_view build_version = INCONTEXT_VERSION;
inline constexpr std::string_view build_flags = INCONTEXT_BENCH_FLAGS;

/// The commit's hash, with "-dirty" after it where files differed from it.
std::string_view build_commit();

}  // namespace incontext::bench
