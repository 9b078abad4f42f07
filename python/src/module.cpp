#include <nanobind/stl/string.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "core.hpp"
#include "incontext/maps/any_map.hpp"
#include "incontext/numerics/detail/dense_functions.hpp"
#include "rooms.hpp"

extern "C" {  // of a shared library, see CMakeLists.txt
const char* incontext_edition();
void incontext_dense_functions(incontext::numerics::detail::DenseFunctions*);
}

NB_MODULE(_core, m) {
  using namespace incontext::python;
  // Classes of the Python half that conversions look up are kept until the process ends.
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::out_of_range&) {  // nanobind's IndexError
      throw;
    } catch (const incontext::maps::MapTypeError& error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const std::logic_error& error) {  // invalid_argument and domain_error
      const std::string text = error.what();
      const bool is_fraction = text.find("not whole") != std::string::npos;
      PyErr_SetString(PyExc_ValueError, (is_fraction ? text + "; numpy.round makes numbers whole" : text).c_str());
    } catch (const std::bad_cast&) {  // of nb::cast, which does not know for what
      PyErr_SetString(PyExc_TypeError, "incontext: an argument, or the result of a function, has the wrong type");
    }
  });
  m.def(
      "docstring", [](const std::string& name) { return std::string(docstring(name)); }, nb::arg("name"),
      "The documentation of a C++ name.");
  incontext_dense_functions(&incontext::numerics::detail::dense_functions);
  m.def("edition", &incontext_edition, "The edition of the simulations that the dynamic loader has chosen.");
  bind_statistics(m);
  bind_scoring(m);
  bind_laws(m);
  bind_regression(m);
  bind_baselines(m);
  bind_classification(m);
  bind_kernel_attention(m);
  bind_calibration(m);
  bind_training(m);
}
