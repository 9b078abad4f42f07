#pragma once

#include "incontext/classification/context.hpp"
#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "query_records.hpp"
#include "records.hpp"

/// Contexts of classification and layers that read them, which simulations and training take too.
INCONTEXT_RECORD(incontext::classification::Context<double>, "classification", "Context", inputs, labels, query,
                 classes)
INCONTEXT_RECORD(incontext::classification::Prediction<double>, "classification", "Prediction", logits, probabilities,
                 sensitivity)
INCONTEXT_CHOICE(incontext::classification::AttentionKind, "classification", "AttentionKind")
INCONTEXT_RECORD(incontext::classification::ContextAttention<double>, "classification", "ContextAttention", key_query,
                 output)
INCONTEXT_RECORD(incontext::classification::ContextWeights<double>, "classification", "ContextWeights", query, key,
                 value, projection)
