#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "incontext/core/floating_point.hpp"

/// A file that appears complete or not at all.
namespace incontext::training::detail {

/// The file that a name refers to through symbolic links; it need not exist.
inline std::filesystem::path linked_file(std::filesystem::path path) {
  constexpr int most_links = 40;
  std::error_code error;
  for (int links = 0; links < most_links; ++links) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return path;
    path = path.parent_path() / std::filesystem::read_symlink(path, error);  // an absolute one replaces all
    if (error) break;
  }
  return path;
}

/// Writes a new file, of a name that nobody can foresee, and gives it the name and the access rights of the older one.
inline void replace_file(const std::string& name, std::string_view content) {
  namespace fs = std::filesystem;
  const fs::path target = linked_file(name);
  char suffix[16];
  std::snprintf(suffix, sizeof suffix, ".%08x", std::random_device()());
  const fs::path temporary = target.parent_path() / (target.filename().string().substr(0, 230) + suffix);
  const auto refuse = [&](const std::error_code& why) {
    throw std::runtime_error("training::save_checkpoint: cannot write '" + name + "': " + why.message());
  };
  const auto last_error = [] { return std::error_code(errno, std::generic_category()); };
  std::FILE* file = std::fopen(temporary.c_str(), "wbx");  // x: no other file, no link
  if (file == nullptr) refuse(last_error());
  std::error_code error;
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size()) error = last_error();
  if (std::fclose(file) != 0 && !error) error = last_error();
  std::error_code absent;
  const fs::file_status older = fs::status(target, absent);
  if (!error && fs::exists(older)) fs::permissions(temporary, older.permissions(), error);
  if (!error) fs::rename(temporary, target, error);
  if (!error) return;
  std::remove(temporary.c_str());
  refuse(error);
}

}  // namespace incontext::training::detail
