#pragma once

#include "attention_records.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression.hpp"
#include "records.hpp"
#include "search_records.hpp"

INCONTEXT_RECORD(incontext::numerics::Quadrature<double>, "laws", "Quadrature", value, error_estimate)
INCONTEXT_RECORD(incontext::regression::IsotropicTask<double>, "regression", "IsotropicTask", dimension, input_variance,
                 task_variance, noise_variance)
INCONTEXT_RECORD(incontext::regression::IsotropicAttention<double>, "regression", "IsotropicAttention", key_query_scale,
                 label_value)
INCONTEXT_RECORD(incontext::regression::InverseTemperatureParabola<double>, "regression", "InverseTemperatureParabola",
                 constant, linear, quadratic)
INCONTEXT_RECORD(incontext::regression::RidgePosterior<double>, "regression", "RidgePosterior", mean, covariance)
INCONTEXT_RECORD(incontext::regression::LeastSquaresTask<double>, "regression", "LeastSquaresTask", slope, intercept,
                 residual_variance)
INCONTEXT_RECORD(incontext::regression::MomentRatio<double>, "regression", "MomentRatio", second_moment, first_moment,
                 ratio)
INCONTEXT_RECORD(incontext::regression::MomentRatioEstimate<double>, "regression", "MomentRatioEstimate", queries,
                 second_moment, first_moment, ratio, standard_error, delta_standard_error)
INCONTEXT_RECORD(incontext::regression::SoftmaxOptimum<double>, "regression", "SoftmaxOptimum", parameter, error, place)
INCONTEXT_RECORD(incontext::regression::SearchRange<double>, "regression", "SearchRange", lowest, start, highest)
