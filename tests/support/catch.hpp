#pragma once

// One include for Catch2 2.13 (one header) and 3 (many headers).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
