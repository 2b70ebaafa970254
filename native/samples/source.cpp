#include "samples/source.hpp"

#include "threads/pool.hpp"

namespace mercer {
namespace {

// The sum of value(i)^2 for i from 0 to count - 1, in sums that run side by side.
template <class F> double sum_of_squares(Index count, F value) {
    constexpr Index kLanes = 8;
    double lanes[kLanes] = {};
    Index k = 0;
    for (; k + kLanes <= count; k += kLanes)
        for (Index l = 0; l < kLanes; ++l) lanes[l] += value(k + l) * value(k + l);
    for (; k < count; ++k) lanes[0] += value(k) * value(k);
    for (Index l = 1; l < kLanes; ++l) lanes[0] += lanes[l];
    return lanes[0];
}

template <class T> double square(const Source<T>& source, const Frame& frame, Index i) {
    const double *shift = frame.shift, *scale = frame.scale;
    if (source.sparse()) {
        const Index first = source.begin(i);
        const T* values = source.values + first;
        const std::int32_t* at = source.indices + first;
        return sum_of_squares(source.end(i) - first,
                              [&](Index k) { return double(values[k]) * (scale ? scale[at[k]] : 1.0); });
    }
    const T* x = source.row(i);
    const Index step = source.column_stride;
    if (scale)
        return sum_of_squares(source.columns,
                              [&](Index k) { return (double(x[k * step]) - (shift ? shift[k] : 0.0)) * scale[k]; });
    if (shift) return sum_of_squares(source.columns, [&](Index k) { return double(x[k * step]) - shift[k]; });
    if (step == 1) return sum_of_squares(source.columns, [&](Index k) { return double(x[k]); });
    return sum_of_squares(source.columns, [&](Index k) { return double(x[k * step]); });
}

} // namespace

template <class T> void squares(const Source<T>& source, const Frame& frame, double* out) {
    constexpr Index kRows = 256;
    parallel((source.rows + kRows - 1) / kRows, [&](long t) {
        for (Index i = t * kRows; i < std::min(source.rows, (t + 1) * kRows); ++i) out[i] = square(source, frame, i);
    });
}

template void squares(const Source<float>&, const Frame&, double*);
template void squares(const Source<double>&, const Frame&, double*);

} // namespace mercer
