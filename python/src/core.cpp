#include "core.hpp"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <stdexcept>

#include "docstrings.hpp"
#include "parallel.hpp"

namespace incontext::python {

const char* docstring(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(docstrings), std::end(docstrings), name,
                       [](const Docstring& entry, std::string_view key) { return entry.name < key; });
  return found != std::end(docstrings) && found->name == name ? found->text : "";
}

nb::object python_class(const char* path) {
  // never destroyed: at exit the interpreter is gone before this library
  static auto& known = *new std::map<std::string, nb::object>;
  auto& object = known[path];
  if (!object.is_valid()) {
    const std::string_view text = path;
    const std::size_t dot = text.find('.');
    const std::string module = "incontext." + std::string(text.substr(0, dot));
    object = nb::module_::import_(module.c_str()).attr(std::string(text.substr(dot + 1)).c_str());
  }
  return object;
}

namespace {

bool is_plain_number(nb::handle object) { return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()); }

/// One argument, seen as an array of the common shape.
struct Operand {
  const double* data;
  std::vector<std::int64_t> strides;
};

nb::object result_number(const Result& result, std::size_t k, double value) {
  if ((result.truth >> k & 1U) != 0) return nb::bool_(value != 0);
  if ((result.whole >> k & 1U) != 0) return nb::int_(static_cast<std::int64_t>(value));
  return nb::float_(value);
}

constexpr std::size_t most_numbers = 64;  // on the stack: an allocation takes longer than the cheapest formula

nb::object scalar_result(const Result& result, const double* out) {
  if (result.is_choice) return python_class(result.record)(static_cast<int>(out[0]));
  if (result.record == nullptr) {
    nb::object value = result_number(result, 0, out[0]);
    if ((result.whole & 1U) != 0) return value;
    // float.__new__(Theory, value): its own __new__ would only say that the error is 0, as the class does
    static PyTypeObject* theory = nullptr;  // no guard: an import may let another thread in, which would wait for it
    if (theory == nullptr) {
      theory = reinterpret_cast<PyTypeObject*>(nb::object(python_class("statistics.Theory")).release().ptr());
    }
    const nb::tuple only = nb::make_tuple(value);
    return nb::steal(PyFloat_Type.tp_new(theory, only.ptr(), nullptr));
  }
  nb::list fields;
  for (std::size_t k = 0; k < result.size; ++k) fields.append(result_number(result, k, out[k]));
  return python_class(result.record)(*fields);
}

nb::object array_result(const Result& result, const nb::list& arrays) {
  if (result.record == nullptr || result.is_choice) return arrays[0];
  return python_class(result.record)(*arrays);
}

std::vector<Operand> operands(const nb::list& broadcast, std::size_t dimensions) {
  std::vector<Operand> all;
  for (nb::handle one : broadcast) {
    const auto view = nb::cast<nb::ndarray<const double, nb::ro>>(one);
    Operand operand{view.data(), std::vector<std::int64_t>(dimensions)};
    for (std::size_t k = 0; k < dimensions; ++k) operand.strides[k] = view.stride(k);
    all.push_back(std::move(operand));
  }
  return all;
}

}  // namespace

bool calls_python(nb::handle record) { return nb::isinstance(record, python_class("scoring.Elementwise")); }

nb::object evaluate(const Result& result, const std::vector<nb::object>& inputs, const Evaluate& function,
                    bool in_threads) {
  if (std::all_of(inputs.begin(), inputs.end(), is_plain_number)) {
    std::vector<double> in(inputs.size()), out(result.size);
    for (std::size_t k = 0; k < in.size(); ++k) in[k] = nb::cast<double>(inputs[k]);
    {
      const nb::gil_scoped_release unlocked;
      function(in.data(), out.data());
    }
    return scalar_result(result, out.data());
  }
  const nb::module_ numpy = nb::module_::import_("numpy");
  nb::list arrays;
  for (const nb::object& input : inputs) arrays.append(numpy.attr("asarray")(input, numpy.attr("float64")));
  const nb::list broadcast(numpy.attr("broadcast_arrays")(*arrays));
  const nb::tuple shape_object(broadcast[0].attr("shape"));
  std::vector<std::int64_t> shape;
  std::int64_t count = 1;
  for (nb::handle length : shape_object) {
    shape.push_back(nb::cast<std::int64_t>(length));
    count *= shape.back();
  }
  const std::vector<Operand> views = operands(broadcast, shape.size());
  nb::list outputs;
  std::vector<double> numbers(static_cast<std::size_t>(count) * result.size);
  if (views.size() > most_numbers || result.size > most_numbers) {
    throw std::length_error("incontext: a closed form of over " + std::to_string(most_numbers) + " numbers");
  }
  const auto one_element = [&](std::int64_t i) {
    std::array<double, most_numbers> arguments, one;
    for (std::size_t k = 0; k < views.size(); ++k) {
      std::int64_t offset = 0, rest = i;
      for (std::size_t a = shape.size(); a-- > 0; rest /= shape[a]) offset += rest % shape[a] * views[k].strides[a];
      arguments[k] = views[k].data[offset];
    }
    function(arguments.data(), one.data());
    for (std::size_t k = 0; k < result.size; ++k) {
      numbers[k * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)] = one[k];
    }
  };
  for_each_element(count, one_element, in_threads);
  if (shape.empty()) return scalar_result(result, numbers.data());
  for (std::size_t k = 0; k < result.size; ++k) {
    const bool whole = (result.whole >> k & 1U) != 0 || result.is_choice;
    nb::object array = numpy.attr("empty")(shape_object, whole ? numpy.attr("int64") : numpy.attr("float64"));
    const double* first = numbers.data() + k * static_cast<std::size_t>(count);
    if (whole) {
      auto view = nb::cast<nb::ndarray<std::int64_t>>(array);
      std::transform(first, first + count, view.data(), [](double x) { return static_cast<std::int64_t>(x); });
    } else {
      auto view = nb::cast<nb::ndarray<double>>(array);
      std::copy(first, first + count, view.data());
    }
    const bool truth = (result.truth >> k & 1U) != 0;
    outputs.append(truth ? array.attr("astype")(numpy.attr("bool_")) : array);
  }
  return array_result(result, outputs);
}

namespace {

/// A closed form as Python calls it.
struct Form {
  std::string name;
  std::vector<Parameter> parameters;
  Result result;
  Evaluate function;

  std::vector<nb::handle> keys = {};  ///< the parameters' names, for as long as the interpreter lives

  nb::object operator()(const nb::args& arguments, const nb::kwargs& keywords) const {
    if (nb::object found = of_numbers(arguments, keywords); found.is_valid()) return found;
    if (arguments.size() > parameters.size()) {
      throw nb::type_error((name + "() takes " + std::to_string(parameters.size()) + " arguments, and " +
                            std::to_string(arguments.size()) + " were given")
                               .c_str());
    }
    std::vector<nb::object> inputs;
    bool in_threads = true;
    std::size_t used = arguments.size();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const Parameter& parameter = parameters[k];
      const bool named = keywords.contains(keys[k]);
      if (k < arguments.size()) {
        if (named)
          throw nb::type_error((name + "() got multiple values for argument '" + parameter.name + "'").c_str());
        append(inputs, parameter, nb::object(arguments[k]), in_threads);
      } else if (named) {
        ++used;
        append(inputs, parameter, nb::object(keywords[keys[k]]), in_threads);
      } else if (parameter.fallback) {
        inputs.push_back(nb::float_(*parameter.fallback));
      } else {
        refuse_unknown(keywords);  // a misspelt name is the cause
        throw nb::type_error((name + "() is missing the argument '" + parameter.name + "'").c_str());
      }
    }
    if (used != arguments.size() + keywords.size()) refuse_unknown(keywords);
    return evaluate(result, inputs, function, in_threads);
  }

  /// The result where every argument is a float or an int of Python; else nothing. It is what most calls are, and a
  /// formula takes less time than to look for records and arrays.
  nb::object of_numbers(const nb::args& arguments, const nb::kwargs& keywords) const {
    std::array<double, most_numbers> in, out;
    const std::size_t given = arguments.size(), named = keywords.size();
    if (given > parameters.size() || parameters.size() > in.size() || result.size > out.size()) return {};
    std::size_t used = 0;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      PyObject* value = k < given   ? PyTuple_GET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(k))
                        : named > 0 ? PyDict_GetItem(keywords.ptr(), keys[k].ptr())
                                    : nullptr;
      if (!parameters[k].records.empty() || (value == nullptr && !parameters[k].fallback)) return {};
      if (value == nullptr) {
        in[k] = *parameters[k].fallback;
      } else if (PyFloat_CheckExact(value)) {
        in[k] = PyFloat_AS_DOUBLE(value);
      } else if (PyLong_CheckExact(value)) {
        in[k] = nb::cast<double>(nb::handle(value));
      } else {
        return {};
      }
      used += value != nullptr && k >= given ? 1 : 0;
    }
    if (used != named) return {};
    {
      const nb::gil_scoped_release unlocked;
      function(in.data(), out.data());
    }
    return scalar_result(result, out.data());
  }

  /// The records that a parameter may be, as a signature names them.
  static std::string types(const Parameter& parameter) {
    std::string text;
    for (const std::string& record : parameter.records) {
      text += (text.empty() ? "incontext." : " | incontext.") + record;
    }
    return text;
  }

 private:
  void append(std::vector<nb::object>& inputs, const Parameter& parameter, const nb::object& value,
              bool& in_threads) const {
    if (parameter.records.empty()) {
      const bool named = parameter.choices != nullptr && nb::isinstance<nb::str>(value);
      if (!named && is_no_number(value)) {
        throw nb::type_error((name.substr(name.find_first_not_of('_')) + "(): " + parameter.name +
                              " must be a number or an array of numbers, and is " + nb::repr(value).c_str())
                                 .c_str());
      }
      inputs.push_back(named ? python_class(parameter.choices).attr("of")((name + ": " + parameter.name).c_str(), value)
                             : value);
      return;
    }
    for (std::size_t kind = 0; kind < parameter.records.size(); ++kind) {
      const nb::object type = python_class(parameter.records[kind].c_str());
      if (!nb::isinstance(value, type)) continue;
      const bool several = parameter.records.size() > 1;
      in_threads = in_threads && !calls_python(value);
      if (several) inputs.push_back(nb::int_(kind));
      const std::size_t end = inputs.size() + parameter.width;
      for (nb::handle field : nb::tuple(type.attr("_numbers"))) inputs.push_back(value.attr(field));
      while (several && inputs.size() < end) inputs.push_back(nb::float_(0.0));
      return;
    }
    throw nb::type_error((name + "(): " + parameter.name + " must be " + types(parameter)).c_str());
  }

  void refuse_unknown(const nb::kwargs& keywords) const {
    for (const auto& [key, value] : keywords) {
      const std::string text = nb::cast<const char*>(key);
      const auto is_it = [&](const Parameter& parameter) { return parameter.name == text; };
      if (std::none_of(parameters.begin(), parameters.end(), is_it)) {
        throw nb::type_error((name + "() has no argument '" + text + "'").c_str());
      }
    }
  }
};

enum class Given { numbers, arrays };

/// What a form that writes one number returns: for numbers that number, else an array.
std::string number_type(const Result& result, Given given) {
  const bool whole = (result.whole & 1U) != 0, truth = (result.truth & 1U) != 0;
  if (given == Given::arrays) {
    return std::string("numpy.typing.NDArray[numpy.") +
           (truth                       ? "bool_"
            : whole || result.is_choice ? "int64"
                                        : "float64") +
           "]";
  }
  return result.is_choice ? "incontext." + std::string(result.record)
         : truth          ? "bool"
         : whole          ? "int"
                          : "incontext.statistics.Theory";
}

bool writes_record(const Form& form) { return form.result.record != nullptr && !form.result.is_choice; }

bool takes_records(const Form& form) {
  return std::any_of(form.parameters.begin(), form.parameters.end(),
                     [](const Parameter& parameter) { return !parameter.records.empty(); });
}

std::string signature(const Form& form, Given given) {
  std::string text = "def " + form.name + "(";
  for (const Parameter& parameter : form.parameters) {
    if (text.back() != '(') text += ", ";
    const std::string type = given == Given::arrays         ? "numpy.typing.ArrayLike"
                             : parameter.choices == nullptr ? "float | numpy.number[typing.Any]"
                                                            : "str | incontext." + std::string(parameter.choices);
    text += std::string(parameter.name) + ": " + (parameter.records.empty() ? type : Form::types(parameter));
    if (!parameter.fallback) continue;
    char number[32];
    std::snprintf(number, sizeof number, "%g", *parameter.fallback);
    text += std::string(" = ") + (parameter.fallback_text != nullptr ? parameter.fallback_text : number);
  }
  if (writes_record(form)) return text + ") -> incontext." + std::string(form.result.record);
  const std::string number =
      takes_records(form) ? number_type(form.result, Given::numbers) + " | " : "";  // a field may be an array
  return text + ") -> " + number + number_type(form.result, given);
}

}  // namespace

void Room::add(const char* name, const std::vector<Parameter>& parameters, const Result& result, Evaluate function) {
  static std::deque<std::string> texts;  // nanobind keeps the pointers
  Form form{name, parameters, result, std::move(function)};
  for (const Parameter& parameter : parameters) form.keys.emplace_back(PyUnicode_InternFromString(parameter.name));
  const auto define = [&](Given given, const char* text) {
    texts.push_back(signature(form, given));
    module_.def(
        name, [form](const nb::args& arguments, const nb::kwargs& keywords) { return form(arguments, keywords); },
        nb::sig(texts.back().c_str()), text);
  };
  // For editors and type checkers numbers give a number, and arrays an array; the first definition is called.
  const bool two = !writes_record(form) && !takes_records(form);
  if (two) define(Given::numbers, docs(name));
  define(Given::arrays, two ? "" : docs(name));
}

}  // namespace incontext::python
