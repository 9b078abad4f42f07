#pragma once

/// Training of attention layers on contexts that are drawn as they are needed.

#include "incontext/train/context_attention.hpp"
