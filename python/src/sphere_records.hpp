#pragma once

#include "incontext/simulate/classification/classification_types.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::simulate::ContextLaw, "simulate", "ContextLaw")
INCONTEXT_RECORD(incontext::simulate::SphereTask, "simulate", "SphereTask", dimension, classes, context_length, law,
                 prototype_sets)
