#pragma once

#include <string>
#include <vector>

/// Numbers that arXiv 2508.14685 prints, digit by digit.
namespace incontext::examples::tasks {

/// The affine task: the model, and its error at function_stddev = 1 ... 10 (inputs N(0, 1)).
struct PrintedRow {
  std::string table, model;
  std::vector<double> errors;
};

/// Table 1 and Table 4. "12Al8AH" and "2Al32AH" have attention layers alone.
inline std::vector<PrintedRow> printed_rows() {
  return {{"1", "SSA", {4e-5, 3e-4, 1e-3, 0.02, 0.02, 0.15, 1.24, 1.04, 2.74, 8.5}},
          {"1", "Softmax", {8e-5, 3e-4, 6e-3, 0.42, 1.62, 3.84, 9.42, 13.51, 27.99, 45.35}},
          {"1", "SOFT/AVG", {7e-5, 3e-3, 0.30, 1.22, 2.91, 7.52, 10.32, 22.97, 38.97, 60.03}},
          {"1", "4 Scoring fts", {5e-5, 3e-3, 0.34, 1.33, 3.18, 8.28, 10.99, 26.31, 42.42, 70.33}},
          {"1", "CosFormer", {2e-4, 5.6e-3, 0.43, 2.07, 5.10, 12.54, 16.91, 46.68, 66.22, 91.02}},
          {"1", "SA-Softmax", {6e-5, 2.8e-3, 0.37, 1.83, 3.83, 11.94, 13.72, 39.29, 58.43, 80.31}},
          {"1", "Llama 3.3 70b", {2e-3, 5.50, 3.16, 13.71, 18.21, 23.91, 28.99, 33.51, 40.25, 48.02}},
          {"4", "1L1AH", {0.1, 0.8, 5.1, 13.1, 26.9, 39.7, 53.0, 84.8, 120.0, 153.2}},
          {"4", "1L2AH", {0.1, 0.8, 5.3, 14.4, 29.8, 41.1, 55.0, 93.8, 120.4, 159.2}},
          {"4", "1L4AH", {0.0, 0.2, 2.7, 8.7, 19.9, 32.0, 42.8, 64.5, 92.3, 131.2}},
          {"4", "2L1AH", {0.0, 0.1, 2.0, 4.9, 13.7, 27.0, 36.1, 64.9, 99.0, 134.0}},
          {"4", "2L2AH", {0.0, 0.0, 1.6, 3.2, 9.3, 25.5, 32.0, 61.1, 92.9, 127.8}},
          {"4", "2L4AH", {0.0, 0.0, 0.9, 2.6, 7.5, 19.3, 27.3, 51.8, 90.2, 119.4}},
          {"4", "3L1AH", {0.0, 0.0, 0.9, 3.0, 8.2, 16.8, 24.4, 48.4, 76.7, 113.2}},
          {"4", "3L2AH", {0.0, 0.0, 0.7, 2.3, 6.5, 15.9, 22.5, 43.1, 74.0, 102.5}},
          {"4", "3L4AH", {0.0, 0.0, 0.6, 1.9, 5.5, 13.8, 20.4, 42.2, 70.3, 100.4}},
          {"4", "6L4AH", {0.0, 0.0, 0.5, 1.6, 4.6, 11.6, 16.8, 33.7, 58.3, 87.9}},
          {"4", "12L8AH", {0.0, 0.0, 0.3, 1.1, 2.9, 7.9, 11.9, 28.3, 46.9, 73.5}},
          {"4", "18L8AH", {0.0, 0.0, 0.2, 1.1, 2.8, 7.1, 10.3, 22.9, 40.3, 64.6}},
          {"4", "2Al32AH", {1.17, 2.64, 3.47, 5.01, 7.88, 16.85, 24.1, 40.98, 66.04, 95.03}},
          {"4", "12Al8AH", {0.0, 0.0, 0.41, 1.70, 3.92, 10.40, 14.04, 30.20, 52.69, 79.13}}};
}

/// Table 3, model 12L8AH: all inputs N(0, 1) but the first, whose standard deviation is `first_input_stddev`.
struct PrintedDeviant {
  double first_input_stddev, error;
};

inline std::vector<PrintedDeviant> printed_deviants() {
  return {{1, 6.4e-05}, {10, 0.05}, {20, 0.25}, {30, 0.50}, {40, 0.82}, {50, 1.21},
          {60, 1.66},   {70, 1.87}, {80, 2.02}, {90, 2.14}, {100, 2.20}};
}

/// Table 2: scores of BabyBERTa on a probe: by MLM softmax, SSA with exponents 1.1, 1.5 and 2, then by the holistic
/// metric.
struct PrintedProbe {
  std::string name;
  std::vector<double> scores;
};

inline std::vector<PrintedProbe> printed_probes() {
  return {{"agreement_Det_N-across_1_adj", {75.35, 76.7, 73.5, 73.3, 56.45, 57.55, 54.95, 56.40}},
          {"agreement_subject_verb-across_PP", {56, 55.75, 58.95, 65.95, 51.55, 51.25, 51.35, 52.05}},
          {"agreement_subject_verb-across_RC", {55.5, 55.75, 57.7, 61.55, 51.9, 52.15, 52.15, 50.05}},
          {"agreement_subject_verb-in_Q+aux", {76.5, 69.6, 79.0, 70.45, 50.1, 48.95, 49.95, 49.05}},
          {"anaphor_agreement-pronoun_gender", {48.1, 50.25, 51.45, 53.7, 52.7, 49.9, 52.75, 52.75}},
          {"argument_structure-dropped_arg", {79.65, 74.65, 74.65, 85.55, 70.7, 80.9, 72.85, 75.85}},
          {"argument_structure-swapped_args", {83.3, 83.1, 92.0, 88.0, 62.45, 58.4, 53.3, 33.15}},
          {"argument_structure-transitive", {53.44, 55.3, 53.85, 57.2, 55.3, 53.7, 56, 55.6}},
          {"binding-principle_a", {78.25, 79.55, 87.9, 80.2, 66.4, 68.2, 75.0, 68.85}},
          {"case-subjective_pronoun", {85.55, 86.5, 89.7, 91.75, 67.55, 81.1, 59.6, 46.9}},
          {"ellipsis-n_bar", {60.75, 56.25, 53.3, 53.45, 35.15, 43.3, 34.7, 33.65}},
          {"filler-gap-wh_question_object", {91.7, 90.65, 89.4, 87.15, 91.9, 89.15, 91.05, 80.3}},
          {"filler-gap-wh_question_subject", {79.2, 79.1, 83.3, 68.25, 65.3, 89.25, 89.25, 48.55}},
          {"irregular-verb", {70.05, 64.85, 78.3, 69.2, 50.15, 58.8, 72.1, 52.5}},
          {"local_attractor-in_question_with_aux", {85.45, 87.35, 81.85, 85.0, 87.8, 89.7, 87.65, 86.1}},
          {"quantifiers-existential_there", {91.3, 86.6, 85.25, 76.25, 86.15, 87.3, 80.9, 85.15}},
          {"quantifiers-superlative", {71.2, 76.1, 83.95, 65.25, 51.2, 47.45, 38.9, 31.85}}};
}

/// Its last row.
inline std::vector<double> printed_overall() { return {73.01, 72.23, 74.94, 72.48, 61.92, 65.12, 63.08, 56.39}; }

}  // namespace incontext::examples::tasks
