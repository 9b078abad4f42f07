#pragma once

#include <incontext/regression/any_law_error.hpp>
#include <incontext/regression/bayes_ridge.hpp>
#include <incontext/regression/bayes_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/least_squares_task.hpp>
#include <incontext/regression/linear_attention_error.hpp>
#include <incontext/regression/moment_ratio.hpp>
#include <incontext/regression/moment_ratio_from_scores.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/regressable.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_rows_error.hpp>
#include <incontext/scoring/softmax.hpp>

/// The closed forms that several programs use, in double. The part that needs Eigen is compiled once, in
/// closed_forms.cpp.
namespace incontext::regression {

extern template void require_positive_definite(std::string_view, std::string_view, const Matrix<double>&, Eigen::Index);
extern template void require_positive_semidefinite(std::string_view, std::string_view, const Matrix<double>&,
                                                   Eigen::Index);
extern template class InputRows<double>;
extern template void require_regressable(const Matrix<double>&, std::span<const std::string>);
extern template LeastSquaresTask<double> least_squares_task(const Matrix<double>&, const Vector<double>&,
                                                            std::span<const std::string>);
extern template Attention<double> pretrained_attention(const LinearTask<double>&, std::int64_t);
extern template InverseTemperatureParabola<double> generalization_error(const Attention<double>&,
                                                                        const LinearTask<double>&, std::int64_t,
                                                                        ErrorConvention);
extern template InverseTemperatureParabola<double> generalization_error_leading_order(const Attention<double>&,
                                                                                      const LinearTask<double>&,
                                                                                      std::int64_t, Offset);
extern template numerics::Quadrature<double> softmax_error(const Attention<double>&, const LinearTask<double>&,
                                                           std::int64_t, const scoring::Softmax<double>&, QueryToken,
                                                           const double&);
extern template numerics::Quadrature<double> softmax_any_law_error(const Attention<double>&, const Matrix<double>&,
                                                                   const Vector<double>&, const Matrix<double>&,
                                                                   const double&, std::int64_t,
                                                                   const scoring::Softmax<double>&);
extern template numerics::Quadrature<double> softmax_labeled_rows_error(const Attention<double>&, const Matrix<double>&,
                                                                        const Vector<double>&, std::int64_t,
                                                                        const scoring::Softmax<double>&);
extern template InverseTemperatureParabola<double> linear_attention_error(const Attention<double>&,
                                                                          const LinearTask<double>&, std::int64_t);
extern template InverseTemperatureParabola<double> any_law_error(const Attention<double>&, const InputRows<double>&,
                                                                 const Vector<double>&, const Matrix<double>&,
                                                                 const double&, std::int64_t, Offset);
extern template InverseTemperatureParabola<double> labeled_rows_error(const Attention<double>&,
                                                                      const InputRows<double>&, const Vector<double>&,
                                                                      std::int64_t, Offset);
extern template BayesRiskEquivalent<double> bayes_risk_deterministic_equivalent(const LinearTask<double>&,
                                                                                std::int64_t);
extern template RidgePosterior<double> bayes_ridge(const Matrix<double>&, const Vector<double>&, const Vector<double>&,
                                                   const Matrix<double>&, const double&);
extern template MomentRatio<double> moment_ratio(const Attention<double>&, const LinearTask<double>&);
extern template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, const Vector<double>&);
extern template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, SelfOnDiagonal);
extern template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, SelfInColumn);

}  // namespace incontext::regression
