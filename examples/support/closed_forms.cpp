#include "examples/support/closed_forms.hpp"

namespace incontext::regression {

template void require_positive_definite(std::string_view, std::string_view, const Matrix<double>&, Eigen::Index);
template void require_positive_semidefinite(std::string_view, std::string_view, const Matrix<double>&, Eigen::Index);
template class InputRows<double>;
template void require_regressable(const Matrix<double>&, std::span<const std::string>);
template LeastSquaresTask<double> least_squares_task(const Matrix<double>&, const Vector<double>&,
                                                     std::span<const std::string>);
template Attention<double> pretrained_attention(const LinearTask<double>&, std::int64_t);
template InverseTemperatureParabola<double> generalization_error(const Attention<double>&, const LinearTask<double>&,
                                                                 std::int64_t, ErrorConvention);
template InverseTemperatureParabola<double> generalization_error_leading_order(const Attention<double>&,
                                                                               const LinearTask<double>&, std::int64_t,
                                                                               Offset);
template numerics::Quadrature<double> softmax_error(const Attention<double>&, const LinearTask<double>&, std::int64_t,
                                                    const scoring::Softmax<double>&, QueryToken, const double&);
template numerics::Quadrature<double> softmax_any_law_error(const Attention<double>&, const Matrix<double>&,
                                                            const Vector<double>&, const Matrix<double>&, const double&,
                                                            std::int64_t, const scoring::Softmax<double>&);
template numerics::Quadrature<double> softmax_labeled_rows_error(const Attention<double>&, const Matrix<double>&,
                                                                 const Vector<double>&, std::int64_t,
                                                                 const scoring::Softmax<double>&);
template InverseTemperatureParabola<double> linear_attention_error(const Attention<double>&, const LinearTask<double>&,
                                                                   std::int64_t);
template InverseTemperatureParabola<double> any_law_error(const Attention<double>&, const InputRows<double>&,
                                                          const Vector<double>&, const Matrix<double>&, const double&,
                                                          std::int64_t, Offset);
template InverseTemperatureParabola<double> labeled_rows_error(const Attention<double>&, const InputRows<double>&,
                                                               const Vector<double>&, std::int64_t, Offset);
template BayesRiskEquivalent<double> bayes_risk_deterministic_equivalent(const LinearTask<double>&, std::int64_t);
template RidgePosterior<double> bayes_ridge(const Matrix<double>&, const Vector<double>&, const Vector<double>&,
                                            const Matrix<double>&, const double&);
template MomentRatio<double> moment_ratio(const Attention<double>&, const LinearTask<double>&);
template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, const Vector<double>&);
template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, SelfOnDiagonal);
template MomentRatioEstimate<double> moment_ratio_from_scores(const Matrix<double>&, SelfInColumn);

}  // namespace incontext::regression
