// Sums in XYZZ coordinates. Sums and products are calls, so that kernels with many sums stay short.
#pragma once
#include "points.cuh"
#include "prelude.cuh"

namespace msm {

using namespace rf;

struct CalledCurve {
    using F = Called<Curve::F>;
    static constexpr bool a_is_zero = Curve::a_is_zero;
    RF_METHOD static F::Word a() { return Curve::a(); }
};
using Sum = Xyzz<Curve::F::Word>;

RF_CALL void add_to(Sum* sum, const Sum* other) { *sum = add_xyzz<CalledCurve>(*sum, *other); }
RF_CALL void add_point_to(Sum* sum, const Point<Curve::F::Word>* other) { *sum = add_mixed<CalledCurve>(*sum, *other); }
RF_CALL void double_it(Sum* sum) { *sum = double_xyzz<CalledCurve>(*sum); }

}  // namespace msm
