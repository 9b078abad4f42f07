#pragma once

#include "incontext/classification.hpp"
#include "query_records.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::classification::KernelForm, "classification", "KernelForm")
INCONTEXT_CHOICE(incontext::classification::SelfTerm, "classification", "SelfTerm")
INCONTEXT_CHOICE(incontext::classification::AttentionKind, "classification", "AttentionKind")
INCONTEXT_CHOICE(incontext::classification::CellDraws, "classification", "CellDraws")
INCONTEXT_RECORD(incontext::classification::Context<double>, "classification", "Context", inputs, labels, query,
                 classes)
INCONTEXT_RECORD(incontext::classification::Prediction<double>, "classification", "Prediction", logits, probabilities,
                 sensitivity)
INCONTEXT_RECORD(incontext::classification::ContextAttention<double>, "classification", "ContextAttention", key_query,
                 output)
INCONTEXT_RECORD(incontext::classification::ContextAttentionPass<double>, "classification", "ContextAttentionPass",
                 prediction, attention, loss, key_query_gradient, output_gradient)
INCONTEXT_RECORD(incontext::classification::RbfAttentionPass<double>, "classification", "RbfAttentionPass", prediction,
                 attention, loss, query_gradient, key_gradient, output_gradient)
INCONTEXT_RECORD(incontext::classification::ContextWeights<double>, "classification", "ContextWeights", query, key,
                 value, projection)
INCONTEXT_RECORD(incontext::classification::EffectiveStep<double>, "classification", "EffectiveStep", kappa, gain)
INCONTEXT_RECORD(incontext::classification::Alignment<double>, "classification", "Alignment", prediction_distance,
                 cosine, sensitivity_distance)
INCONTEXT_RECORD(incontext::classification::CircleCells<double>, "classification", "CircleCells", volume, probability,
                 balanced_weights, balanced_classes, independent_classes, mean_partition_function,
                 partition_function_variance)
INCONTEXT_RECORD(incontext::classification::Estimated, "classification", "Estimated", value, standard_error)
INCONTEXT_RECORD(incontext::classification::CellRatios, "classification", "CellRatios", volume, density,
                 balanced_weights, mean_cosine)
