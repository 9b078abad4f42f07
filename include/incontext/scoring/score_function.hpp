#pragma once

#include <cmath>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/real.hpp"

/// Functions of one number with their slopes: the heads of ratio_score.hpp and the features of feature_kernel.hpp.
namespace incontext::scoring {

/// f(z) = 1: every visible key alike.
///
/// Runs on   host and device
struct Average {
  template <Real T>
  INCONTEXT_HD static T value(const T&) {
    return T(1);
  }
  template <Real T>
  INCONTEXT_HD static T slope(const T&) {
    return T(0);
  }
  /// The same for the numbers of a pack.
  template <class T>
  INCONTEXT_HD static Pack<T> values(const Pack<T>&) {
    return pack_of(T(1));
  }
  template <class T>
  INCONTEXT_HD static Pack<T> slopes(const Pack<T>&) {
    return pack_of(T(0));
  }
};

/// f(z) = tanh z.
///
/// Runs on   host and device
struct Tanh {
  template <Real T>
  INCONTEXT_HD static T value(const T& z) {
    using std::tanh;
    return tanh(z);
  }
  /// 1 - tanh^2 = 4 e / (1 + e)^2 with e = e^(-2|z|), without the difference.
  template <Real T>
  INCONTEXT_HD static T slope(const T& z) {
    using std::exp;
    const T exponent = T(-2) * math::magnitude(z);
    const T e = exp(exponent);
    return T(4) * e / ((T(1) + e) * (T(1) + e));
  }
};

/// f(z) = max(z, 0); the derivative at 0 is 0.
///
/// Runs on   host and device
struct Relu {
  template <Real T>
  INCONTEXT_HD static T value(const T& z) {
    return T(0) < z ? z : T(0);
  }
  template <Real T>
  INCONTEXT_HD static T slope(const T& z) {
    return T(T(0) < z ? 1 : 0);  // without a branch
  }
  /// The same for the numbers of a pack.
  template <class T>
  INCONTEXT_HD static Pack<T> values(const Pack<T>& z) {
    return z > pack_of(T(0)) ? z : pack_of(T(0));
  }
  template <class T>
  INCONTEXT_HD static Pack<T> slopes(const Pack<T>& z) {
    return z > pack_of(T(0)) ? pack_of(T(1)) : pack_of(T(0));
  }
};

/// f(z) = z^2.
///
/// Runs on   host and device
struct Square {
  template <Real T>
  INCONTEXT_HD static T value(const T& z) {
    return z * z;
  }
  template <Real T>
  INCONTEXT_HD static T slope(const T& z) {
    return T(2) * z;
  }
  /// The same for the numbers of a pack.
  template <class T>
  INCONTEXT_HD static Pack<T> values(const Pack<T>& z) {
    return z * z;
  }
  template <class T>
  INCONTEXT_HD static Pack<T> slopes(const Pack<T>& z) {
    return z * T(2);
  }
};

/// f(x) = elu(x) + 1 = x + 1 for x > 0, e^x otherwise: positive, once differentiable.
///
/// Source    the feature map of linear transformers, arXiv 2006.16236.
/// Runs on   host and device
struct EluPlusOne {
  template <Real T>
  INCONTEXT_HD static T value(const T& x) {
    using std::exp;
    return T(0) < x ? T(x + T(1)) : T(exp(x));
  }
  template <Real T>
  INCONTEXT_HD static T slope(const T& x) {
    using std::exp;
    return T(0) < x ? T(1) : T(exp(x));
  }
};

}  // namespace incontext::scoring
