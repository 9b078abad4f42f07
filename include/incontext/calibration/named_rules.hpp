#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/count.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// The temperature rules of deployed models, and of papers, by name, each as one inverse temperature: the factor on the
/// scores q.k / sqrt(d) before softmax. A rule that multiplies the queries alone is that factor; one that multiplies
/// queries and keys is its square. `row_length` is the number of keys that a query sees, itself included, so that a
/// query at position p, counted from 0, has p + 1.
namespace incontext::calibration {

namespace detail {

/// Accepts a finite length of at least `minimum`.
template <Real T>
void require_length(std::string_view where, std::string_view parameter, const T& value, const T& minimum) {
  if (!(minimum <= value && math::is_finite(value))) {
    throw_domain_error(where, std::string(parameter) + " is too small or not finite", value,
                       "at least " + incontext::detail::contract_text(minimum));
  }
}

/// max(1, log length / log trained).
template <Real T>
T log_ratio(const T& length, const T& trained) {
  using std::log;
  return length > trained ? T(log(length) / log(trained)) : T(1);
}

}  // namespace detail

/// Qwen's rule for rows that are longer than in training, `use_logn_attn`: the logarithm of the length to the base of
/// the trained length.
///
/// \f[ \beta = \max\Bigl(1, \frac{\log n}{\log L}\Bigr) \f]
///
/// It multiplies the queries, after their rotation.
///
///     const double beta = calibration::qwen_inverse_temperature<double>(32768, 8192);   // 1.154
///
/// Source    github.com/QwenLM/Qwen-Audio, modeling_qwen.py (QWenAttention.forward, `logn_tensor`), as in the first
///           Qwen models. There the factor ends at n = 32767.
/// Units     dimensionless; row_length n and trained_length L in keys.
/// Domain    row_length >= 1, trained_length >= 2; neither need be whole.
/// Limits    row_length <= trained_length: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  4 eps: tests/calibration/named_rules.cpp.
template <Real T>
T qwen_inverse_temperature(const Count<T>& row_length, const Count<T>& trained_length) {
  constexpr auto where = "calibration::qwen_inverse_temperature";
  detail::require_length<T>(where, "row_length", row_length, T(1));
  detail::require_length<T>(where, "trained_length", trained_length, T(2));
  return detail::log_ratio<T>(row_length, trained_length);
}

/// Grok's rule, `attn_temperature_len`: Qwen's with the query's position, counted from 0, in the place of the length.
///
/// \f[ \beta = \max\Bigl(1, \frac{\log (n - 1)}{\log L}\Bigr) \f]
///
/// It multiplies the scores. In the decoding kernel that is the source this comes after the soft cap of the scores.
///
/// Source    github.com/sgl-project/sglang, python/sglang/srt/layers/attention/triton_ops/decode_attention.py
///           (`xai_temperature_len`; the quotient of two log2 there).
/// Units     dimensionless; row_length n and temperature_length L in keys.
/// Domain    row_length >= 1, temperature_length >= 2; neither need be whole.
/// Limits    row_length <= temperature_length + 1: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  4 eps: tests/calibration/named_rules.cpp.
template <Real T>
T grok_inverse_temperature(const Count<T>& row_length, const Count<T>& temperature_length) {
  constexpr auto where = "calibration::grok_inverse_temperature";
  detail::require_length<T>(where, "row_length", row_length, T(1));
  detail::require_length<T>(where, "temperature_length", temperature_length, T(2));
  return detail::log_ratio<T>(T(row_length - T(1)), temperature_length);
}

/// Llama 4's rule, `attn_temperature_tuning`, for its layers without rotation: one more step of the logarithm for every
/// `floor_scale` keys.
///
/// \f[ \beta = 1 + a \log\Bigl(1 + \Bigl\lfloor\frac nF\Bigr\rfloor\Bigr) \f]
///
/// It multiplies the queries.
///
///     const double beta = calibration::llama4_inverse_temperature<double>(8192, 8192, 0.1);   // 1.0693
///
/// Source    github.com/huggingface/transformers, src/transformers/models/llama4/modeling_llama4.py
///           (Llama4TextAttention.forward, `attn_scale`, `floor_scale`); Llama 4 has a = 0.1 and F = 8192.
/// Units     dimensionless; row_length n and floor_scale F in keys, attention_scale a.
/// Domain    row_length >= 1 and floor_scale >= 1, not necessarily whole; attention_scale >= 0.
/// Limits    row_length < floor_scale: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  4 eps: tests/calibration/named_rules.cpp.
template <Real T>
T llama4_inverse_temperature(const Count<T>& row_length, const Count<T>& floor_scale, const T& attention_scale) {
  using std::floor;
  using std::log;
  constexpr auto where = "calibration::llama4_inverse_temperature";
  detail::require_length<T>(where, "row_length", row_length, T(1));
  detail::require_length<T>(where, "floor_scale", floor_scale, T(1));
  require_non_negative(where, "attention_scale", attention_scale);
  const T &n = row_length, &step = floor_scale;
  return T(1) + attention_scale * log(T(T(1) + floor(T(n / step))));
}

/// The rule of Ministral 3 and Mistral's later models, `llama_4_scaling_beta`: Llama 4's with the query's position,
/// counted from 0, in the place of the length.
///
/// \f[ \beta = 1 + a \log\Bigl(1 + \Bigl\lfloor\frac{n - 1}L\Bigr\rfloor\Bigr) \f]
///
/// It multiplies the queries, after their rotation. These models have YaRN, too, whose factor is another one.
///
/// Source    github.com/huggingface/transformers, src/transformers/models/ministral3/modeling_ministral3.py
///           (`_get_llama_4_attn_scale`); L is `original_max_position_embeddings`, and Ministral 3 has a = 0.1.
/// Units     dimensionless; row_length n and trained_length L in keys, attention_scale a.
/// Domain    row_length >= 1 and trained_length >= 1, not necessarily whole; attention_scale >= 0.
/// Limits    row_length <= trained_length: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  4 eps: tests/calibration/named_rules.cpp.
template <Real T>
T mistral_inverse_temperature(const Count<T>& row_length, const Count<T>& trained_length, const T& attention_scale) {
  using std::floor;
  using std::log;
  constexpr auto where = "calibration::mistral_inverse_temperature";
  detail::require_length<T>(where, "row_length", row_length, T(1));
  detail::require_length<T>(where, "trained_length", trained_length, T(1));
  require_non_negative(where, "attention_scale", attention_scale);
  const T position = row_length - T(1);
  const T& step = trained_length;
  return T(1) + attention_scale * log(T(T(1) + floor(T(position / step))));
}

/// LongRoPE's inverse temperature for a model whose rows were made `factor` times as long as in training.
///
/// \f[ \beta = 1 + \frac{\log s}{\log L} = \frac{\log (s L)}{\log L} \f]
///
/// It multiplies the rotated entries of queries and keys, each by the root of this. It is one number per model, and at
/// its greatest length, n = s L, it is Qwen's.
///
/// Source    github.com/huggingface/transformers, src/transformers/modeling_rope_utils.py
///           (`_compute_longrope_parameters`: attention_factor = sqrt(1 + ln s / ln L)), as in Phi-3.
/// Units     dimensionless; factor s, trained_length L in keys.
/// Domain    factor > 0, trained_length >= 2.
/// Limits    factor <= 1: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  4 eps: tests/calibration/named_rules.cpp.
template <Real T>
T longrope_inverse_temperature(const T& factor, const Count<T>& trained_length) {
  using std::log;
  constexpr auto where = "calibration::longrope_inverse_temperature";
  require_positive(where, "factor", factor);
  detail::require_length<T>(where, "trained_length", trained_length, T(2));
  const T& trained = trained_length;
  return factor > T(1) ? T(T(1) + log(factor) / log(trained)) : T(1);
}

/// The inverse temperature of DeepSeek's models of YaRN, whose logarithm has a weight, `mscale`.
///
/// \f[ \beta = (0.1\, m \ln s + 1)^2 \f]
///
/// It multiplies the scores, and is one number per model. m = 1 is YaRN's own, yarn_inverse_temperature.
///
/// Source    github.com/deepseek-ai/DeepSeek-V3, inference/model.py (MLA.__init__, `softmax_scale`); there it is for
///           models whose rows were made longer, and 1 for others.
/// Units     dimensionless; factor s, mscale m.
/// Domain    factor > 0, mscale >= 0.
/// Limits    factor <= 1 or mscale = 0: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  8 eps: tests/calibration/named_rules.cpp.
template <Real T>
T deepseek_inverse_temperature(const T& factor, const T& mscale) {
  using std::log;
  constexpr auto where = "calibration::deepseek_inverse_temperature";
  require_positive(where, "factor", factor);
  require_non_negative(where, "mscale", mscale);
  if (!(factor > T(1))) return T(1);
  const T root = T(1) + mscale * log(factor) / T(10);
  return root * root;
}

/// YaRN's inverse temperature for rows `factor` times as long as in training.
///
/// \f[ \beta = (0.1 \ln s + 1)^2 \f]
///
/// Source    arXiv 2309.00071 eq. 22, which has sqrt(1/t) = 0.1 ln(s) + 1 for the softmax of q.k / (t sqrt d).
/// Domain    factor >= 1.
/// Limits    factor = 1: 1.
/// Errors    std::invalid_argument for factor below 1; std::domain_error if it is not finite.
/// Accuracy  8 eps: tests/calibration/named_rules.cpp.
template <Real T>
T yarn_inverse_temperature(const T& factor) {
  constexpr auto where = "calibration::yarn_inverse_temperature";
  require_finite(where, "factor", factor);
  require_at_least(where, "factor", factor, T(1));
  return deepseek_inverse_temperature(factor, T(1));
}

/// Adaptive temperature: the inverse temperature of a row as a polynomial of the entropy H that its weights have at 1.
///
/// \f[ \beta = \max(1, -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791)\ \text{for}\ H > 0.5,\quad 1\ \text{else} \f]
///
/// The polynomial is above 1 for 0.849 < H < 5.945 nats alone: a row with the entropy of 382 equal weights or more is
/// left as it is, and the greatest inverse temperature is 2.4214, at 4.412 nats.
///
///     const double beta = calibration::entropy_inverse_temperature(2.0);   // 2.099
///
/// Source    arXiv 2410.01104, the program of its section 5; the highest power has the first coefficient, as NumPy's
///           polyval takes them.
/// Units     entropy in nats; dimensionless.
/// Domain    entropy >= 0.
/// Limits    entropy <= 0.8485 or entropy >= 5.9446: 1.
/// Errors    std::domain_error outside the domain.
/// Accuracy  64 eps: tests/calibration/named_rules.cpp.
template <Real T>
T entropy_inverse_temperature(const T& entropy) {
  require_non_negative("calibration::entropy_inverse_temperature", "entropy", entropy);
  if (!(entropy > T(1) / T(2))) return T(1);
  T thousandths = T(-37);
  for (const int coefficient : {481, -2300, 4917, -1791}) thousandths = thousandths * entropy + T(coefficient);
  return thousandths > T(1000) ? T(thousandths / T(1000)) : T(1);
}

}  // namespace incontext::calibration
