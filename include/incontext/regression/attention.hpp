#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::regression {

/// The merged parameters of one attention layer that matter for in-context regression.
///
/// \f[ K^T Q = \begin{pmatrix} M & * \\ 0 & * \end{pmatrix},\qquad \text{last row of } V = (v_x^T, v_y) \f]
///
/// The layer reads the matrix E whose columns are (x_i; y_i) for the examples and (x_q; 0) for the query. It predicts
/// the last entry of the last column of E + V E a(E^T K^T Q E / temperature). The starred blocks multiply the query's
/// empty label and drop out.
///
/// Source    arXiv 2511.01292 eq. (5), with m_21 = 0 as there.
/// Shapes    key_query M: d x d; input_value v_x: d; label_value v_y: scalar
/// Units     scores x^T M x_q have the units of the temperature; v_x in units of y / x; v_y dimensionless.
/// Domain    finite (validate()).
template <Real T, class M = Matrix<T>>
struct Attention {
  M key_query;
  Vector<T> input_value;
  T label_value = T(0.0);
};

/// A layer whose scores' matrix M is a diagonal, or that and a sum of few outer products.
template <Real T>
using DiagonalAttention = Attention<T, DiagonalPlusLowRank<T>>;

/// Refuses an attention whose shapes do not fit the dimension of the inputs, or with an entry that is not finite.
///
/// Shapes    key_query: dimension x dimension; input_value: dimension
/// Errors    std::invalid_argument for shapes, std::domain_error for values.
template <Real T, class M = Matrix<T>>
void validate(const Attention<T, M>& attention, std::int64_t dimension, std::string_view where = "validate") {
  require_shape(where, "key_query", attention.key_query, dimension, dimension);
  require_finite_entries(where, "key_query", attention.key_query);
  require_shape(where, "input_value", attention.input_value, dimension, 1);
  require_finite_entries(where, "input_value", attention.input_value);
  require_finite_entries(where, "label_value", Vector<T>::Constant(1, attention.label_value));
}

using incontext::QueryToken;

/// Whether the prediction keeps its offset b = v_x . xbar + v_y ybar, the part that does not depend on the temperature.
/// `removed` is the limit of the attention (t v_x, t v_y, M / t) for t -> 0, which leaves the attended part as it is
/// and scales b by t.
///
/// Source    arXiv 2511.01292 eqs. (63)-(64), Assumption 4.1.
enum class Offset { kept, removed };

/// The model that an error refers to: whether the query is among the tokens, and whether the offset is kept. At l = 12,
/// d = 4 the choice of the query token changes the error by 9%.
struct ErrorConvention {
  QueryToken query = QueryToken::excluded;
  Offset offset = Offset::kept;
};

INCONTEXT_COMPILED(regression_attention, validate<double>);
INCONTEXT_COMPILED(regression_attention, validate<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
