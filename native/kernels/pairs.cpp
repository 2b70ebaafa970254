#include "kernels/pairs.hpp"

#include "kernels/isa.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <numeric>

namespace mercer {

template <class T> Index Pairs<T>::height(Index columns) const {
    return std::max<Index>(1, (Index(1) << 20) / std::max<Index>(1, columns));
}

template <class T> void Pairs<T>::prepare(const Index*, Index, std::unique_ptr<Ready>&) const {}

template <class T> void Pairs<T>::stream(const Index* index, Index rows, Index first_column, Index last_column,
                                         const Visit& visit, const Ready*) const {
    static thread_local Buffer<T> spare;
    Buffer<T> memory = std::move(spare); // a Python kernel may come here again while its block is filled
    const Index columns = last_column - first_column;
    const Index height = std::min(rows, this->height(columns));
    T* block = memory.reserve(std::size_t(height * columns));
    for (Index r = 0; r < rows; r += height) {
        const Index count = std::min(height, rows - r);
        fill(index + r, 0, count, first_column, last_column, block, columns);
        visit(r, count, first_column, last_column, block, columns);
    }
    spare = std::move(memory);
}

template <class T, class S>
Grid useful_grid(const Source<S>& x, const Source<S>& z, const Formula& formula, const Frame& frame) {
    // Sparse rows are written out to be looked at, and packed, so they must not be too long.
    auto affordable = [](const Source<S>& s) {
        return !s.sparse() || double(s.rows) * double(s.columns) <= 32.0 * double(s.indptr[s.rows]);
    };
    if (formula.pair != Pair::squared_distance || frame.scale || !affordable(x) || !affordable(z)) return {};
    return find_grid<T>(x, z);
}

template <class T> void product(const Pairs<T>& pairs, Index rows, Index columns, const double* weights, Index outputs,
                                const std::vector<Index>& starts, double* out) {
    const Isa<T>& isa = instruction_set().of<T>();
    const Index segments = Index(starts.size()), padded = outputs == 1 ? 1 : (outputs + 7) / 8 * 8;
    std::vector<double> wide;
    if (padded != outputs) {
        wide.assign(std::size_t(columns * padded), 0.0);
        for (Index j = 0; j < columns; ++j) std::copy_n(weights + j * outputs, outputs, wide.data() + j * padded);
        weights = wide.data();
    }
    // Rows are shared out; each is summed by one thread, over the columns in order.
    const Index height =
        std::max<Index>(1, std::min<Index>(pairs.grain(), (rows + 4 * thread_count() - 1) / (4 * thread_count())));
    parallel((rows + height - 1) / height, [&](long t) {
        const Index first = t * height, count = std::min(height, rows - first);
        std::vector<Index> index(static_cast<std::size_t>(count));
        std::iota(index.begin(), index.end(), first);
        std::vector<double> sums(std::size_t(count * segments * padded), 0.0);
        pairs.stream(index.data(), count, 0, columns,
                     [&](Index r, Index many, Index j0, Index j1, const T* block, Index stride) {
                         for (Index s = 0; s < segments; ++s) {
                             const Index a = std::max(j0, starts[std::size_t(s)]);
                             const Index b = std::min(j1, s + 1 < segments ? starts[std::size_t(s + 1)] : columns);
                             if (a >= b) continue;
                             isa.multiply(many, b - a, block + (a - j0), stride, weights + a * padded, padded,
                                          sums.data() + (r * segments + s) * padded, segments * padded);
                         }
                     });
        for (Index i = 0; i < count * segments; ++i)
            std::copy_n(sums.data() + i * padded, outputs, out + (first * segments + i) * outputs);
    });
}

template class Pairs<float>;
template class Pairs<double>;
template Grid useful_grid<float>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Grid useful_grid<float>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template Grid useful_grid<double>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Grid useful_grid<double>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template void product(const Pairs<float>&, Index, Index, const double*, Index, const std::vector<Index>&, double*);
template void product(const Pairs<double>&, Index, Index, const double*, Index, const std::vector<Index>&, double*);

} // namespace mercer
