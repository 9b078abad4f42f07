#pragma once

#include "incontext/core/query_token.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::QueryToken, "regression", "QueryToken")
