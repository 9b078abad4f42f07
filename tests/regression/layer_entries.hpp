#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <vector>

#include "incontext/regression/attention.hpp"

/// The entries of a layer one after another, so that a test can change each of them.
namespace incontext::testing {

template <class T>
std::vector<T> entries_of(const regression::Attention<T>& attention) {
  std::vector<T> entries(attention.key_query.data(), attention.key_query.data() + attention.key_query.size());
  entries.insert(entries.end(), attention.input_value.data(),
                 attention.input_value.data() + attention.input_value.size());
  entries.push_back(attention.label_value);
  return entries;
}

template <class T>
regression::Attention<T> attention_of(const std::vector<T>& entries, Eigen::Index d) {
  return {Eigen::Map<const regression::Matrix<T>>(entries.data(), d, d),
          Eigen::Map<const regression::Vector<T>>(entries.data() + d * d, d), entries.back()};
}

}  // namespace incontext::testing
