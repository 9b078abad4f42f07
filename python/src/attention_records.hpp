#pragma once

#include "incontext/regression/attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/linear_task.hpp"
#include "query_records.hpp"
#include "records.hpp"

/// The layer of regression, which simulations and training take too.
INCONTEXT_CHOICE(incontext::regression::Offset, "regression", "Offset")
INCONTEXT_RECORD(incontext::regression::ErrorConvention, "regression", "ErrorConvention", query, offset)
INCONTEXT_RECORD(incontext::regression::Attention<double>, "regression", "Attention", key_query, input_value,
                 label_value)
INCONTEXT_RECORD(incontext::regression::ErrorGradient<double>, "regression", "ErrorGradient", error, attention,
                 inverse_temperature)
