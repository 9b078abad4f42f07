#pragma once

#include <nanobind/nanobind.h>

/// One function per room, each in a source file of its own, that adds the room's names to the extension.
namespace incontext::python {

void bind_attention(nanobind::module_& arrays);
void bind_baselines(nanobind::module_& core);
void bind_calibration(nanobind::module_& core);
void bind_classification(nanobind::module_& core);
void bind_kernel_attention(nanobind::module_& core);
void bind_laws(nanobind::module_& core);
void bind_regression(nanobind::module_& core);
void bind_rows(nanobind::module_& arrays);
void bind_scoring(nanobind::module_& core);
void bind_statistics(nanobind::module_& core);
void bind_training(nanobind::module_& core);

}  // namespace incontext::python
