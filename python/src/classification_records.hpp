#pragma once

#include "context_records.hpp"
#include "incontext/classification.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::classification::KernelForm, "classification", "KernelForm")
INCONTEXT_CHOICE(incontext::classification::SelfTerm, "classification", "SelfTerm")
INCONTEXT_CHOICE(incontext::classification::CellDraws, "classification", "CellDraws")
INCONTEXT_RECORD(incontext::classification::ContextAttentionPass<double>, "classification", "ContextAttentionPass",
                 prediction, attention, loss, key_query_gradient, output_gradient)
INCONTEXT_RECORD(incontext::classification::RbfAttentionPass<double>, "classification", "RbfAttentionPass", prediction,
                 attention, loss, query_gradient, key_gradient, output_gradient)
INCONTEXT_RECORD(incontext::classification::EffectiveStep<double>, "classification", "EffectiveStep", kappa, gain)
INCONTEXT_RECORD(incontext::classification::Alignment<double>, "classification", "Alignment", prediction_distance,
                 cosine, sensitivity_distance)
INCONTEXT_RECORD(incontext::classification::CircleCells<double>, "classification", "CircleCells", volume, probability,
                 balanced_weights, balanced_classes, independent_classes, mean_partition_function,
                 partition_function_variance)
INCONTEXT_RECORD(incontext::classification::Estimated, "classification", "Estimated", value, standard_error)
INCONTEXT_RECORD(incontext::classification::CellRatios, "classification", "CellRatios", volume, density,
                 balanced_weights, mean_cosine)
