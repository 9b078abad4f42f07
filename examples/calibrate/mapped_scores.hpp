#pragma once

#include <incontext/calibration/score_array.hpp>

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <vector>

/// Scores in an .npy file, which is mapped into memory and may be larger than the memory.
namespace incontext::examples::calibrate {

class MappedScores {
 public:
  /// Refuses files that are not .npy files of 1 to 4 dimensions in half, single or double precision, or are cut off. A
  /// file that another program shortens while this one reads it ends the program with one line and exit code 2.
  explicit MappedScores(const std::string& file);
  MappedScores(const MappedScores&) = delete;
  MappedScores& operator=(const MappedScores&) = delete;
  ~MappedScores();

  const calibration::ScoreArray& array() const { return array_; }
  const std::string& file() const { return file_; }
  /// "4 x 8 x 512 x 512, float16"
  const std::string& description() const { return description_; }

  /// Refuses a file that was written to since it was opened, as one that a model still saves.
  void require_unchanged() const;

  /// Lets go of the pages that were read; they are read again if they are needed again.
  void release() const;

 private:
  void close();

  std::string file_;
  std::string description_ = {};
  int descriptor_ = -1;
  struct stat opened_ = {};
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
  calibration::ScoreArray array_ = {};
};

}  // namespace incontext::examples::calibrate
