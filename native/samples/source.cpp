#include "samples/source.hpp"

#include "threads/pool.hpp"

namespace mercer {

template <class T> void squares(const Source<T>& source, double* out) {
    constexpr Index kRows = 256, kLanes = 8; // sums that run side by side
    auto sum = [](const T* x, Index count, Index stride) {
        double lanes[kLanes] = {};
        Index k = 0;
        for (; k + kLanes <= count; k += kLanes)
            for (Index l = 0; l < kLanes; ++l) {
                const double v = double(x[(k + l) * stride]);
                lanes[l] += v * v;
            }
        for (; k < count; ++k) lanes[0] += double(x[k * stride]) * double(x[k * stride]);
        for (Index l = 1; l < kLanes; ++l) lanes[0] += lanes[l];
        return lanes[0];
    };
    parallel((source.rows + kRows - 1) / kRows, [&](long t) {
        for (Index i = t * kRows; i < std::min(source.rows, (t + 1) * kRows); ++i)
            if (source.sparse())
                out[i] = sum(source.values + source.indptr[i], source.indptr[i + 1] - source.indptr[i], 1);
            else if (source.contiguous())
                out[i] = sum(source.data + i * source.row_stride, source.columns, 1);
            else
                out[i] = sum(source.data + i * source.row_stride, source.columns, source.column_stride);
    });
}

template void squares(const Source<float>&, double*);
template void squares(const Source<double>&, double*);

} // namespace mercer
