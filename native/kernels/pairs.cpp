#include "kernels/pairs.hpp"

#include "kernels/isa.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <numeric>

namespace mercer {

// So many grains of samples are a group of a symmetric product.
constexpr Index kGrains = 2;

template <class T> Index Pairs<T>::height(Index columns) const {
    return std::max<Index>(4, (Index(1) << 20) / std::max<Index>(1, columns));
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

template <class T> void Pairs<T>::write(const Index* index, Index rows, Index first_column, Index last_column, T* out,
                                        Index stride, const Ready*) const {
    fill(index, 0, rows, first_column, last_column, out, stride);
}

template <class T, class S>
Grid useful_grid(const Source<S>& x, const Source<S>& z, const Formula& formula, const Frame& frame) {
    // Sparse rows are written out to be looked at, and packed, so they must not be too long.
    auto affordable = [](const Source<S>& s) {
        return !s.sparse() || double(s.rows) * double(s.columns) <= 32.0 * double(s.stored());
    };
    if (formula.reduction != Reduction::squared_distance || frame.scale || !affordable(x) || !affordable(z)) return {};
    return find_grid<T>(x, z);
}

namespace {

// Weights with rows of zeros at their end, so that these are whole vectors; a single column stays one.
template <class T, class W> class Padded {
  public:
    Padded(Index rows, const W* weights, Index outputs) : data_(weights) {
        const Index lanes = instruction_set().of<T>().nr / 2 * Index(sizeof(T)) / Index(sizeof(W));
        width_ = outputs == 1 ? 1 : (outputs + lanes - 1) / lanes * lanes;
        if (width_ == outputs) return;
        copy_.assign(std::size_t(rows * width_), W(0));
        for (Index j = 0; j < rows; ++j) std::copy_n(weights + j * outputs, outputs, copy_.data() + j * width_);
        data_ = copy_.data();
    }
    Index width() const { return width_; }
    const W* row(Index j) const { return data_ + j * width_; }

  private:
    const W* data_;
    Index width_;
    std::vector<W> copy_;
};

} // namespace

template <class T, class W> void product(const Pairs<T>& pairs, Index rows, Index columns, const W* weights,
                                         Index outputs, const std::vector<Index>& starts, double* out) {
    const auto multiply = instruction_set().of<T>().template multiply<W>();
    const Padded<T, W> wide(columns, weights, outputs);
    const Index segments = Index(starts.size()), padded = wide.width();
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
                             multiply(many, b - a, block + (a - j0), stride, 1, wide.row(a), padded,
                                      sums.data() + (r * segments + s) * padded, segments * padded);
                         }
                     });
        for (Index i = 0; i < count * segments; ++i)
            std::copy_n(sums.data() + i * padded, outputs, out + (first * segments + i) * outputs);
    });
}

// The samples are cut into groups, which meet as the players of a tournament do (the circle method): in every round
// each meets one other. So no two tasks of a round add to the same sums, and each of these is added to in the order of
// the rounds, whatever thread it is that adds.
template <class T, class W>
void symmetric_product(const Pairs<T>& pairs, Index n, const W* weights, Index outputs, double* out) {
    const auto multiply = instruction_set().of<T>().template multiply<W>();
    const Padded<T, W> wide(n, weights, outputs);
    const Index padded = wide.width();
    // Groups are wide where few columns cost more, each, than many.
    const Index group = pairs.narrow() ? kGrains * pairs.grain() : std::clamp<Index>(n / 16, 256, 2048);
    const Index groups = (n + group - 1) / group, players = groups + groups % 2;
    std::vector<Index> every(static_cast<std::size_t>(n));
    std::iota(every.begin(), every.end(), Index(0));
    std::vector<double> sums(std::size_t(n * padded), 0.0);
    auto meet = [&](Index a, Index b) {
        if (a >= groups || b >= groups) return; // an odd one out has nobody to meet
        if (a > b) std::swap(a, b);
        poll();
        const Index i0 = a * group, height = std::min(group, n - i0);
        pairs.stream(
            every.data() + i0, height, b * group, std::min(n, (b + 1) * group),
            [&](Index r, Index many, Index j0, Index j1, const T* block, Index stride) {
                const Index i = i0 + r;
                multiply(many, j1 - j0, block, stride, 1, wide.row(j0), padded, sums.data() + i * padded, padded);
                if (a == b) return;
                multiply(j1 - j0, many, block, 1, stride, wide.row(i), padded, sums.data() + j0 * padded, padded);
            });
    };
    parallel(groups, [&](long a) { meet(a, a); });
    const Index circle = players - 1;
    for (Index round = 0; round < circle; ++round)
        parallel(players / 2, [&](long k) {
            if (k == 0)
                meet(round, circle);
            else
                meet((round + k) % circle, (round + circle - k) % circle);
        });
    for (Index i = 0; i < n; ++i) std::copy_n(sums.data() + i * padded, outputs, out + i * outputs);
}

template class Pairs<float>;
template class Pairs<double>;
template Grid useful_grid<float>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Grid useful_grid<float>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template Grid useful_grid<double>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Grid useful_grid<double>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template void product(const Pairs<float>&, Index, Index, const float*, Index, const std::vector<Index>&, double*);
template void product(const Pairs<float>&, Index, Index, const double*, Index, const std::vector<Index>&, double*);
template void product(const Pairs<double>&, Index, Index, const double*, Index, const std::vector<Index>&, double*);
template void symmetric_product(const Pairs<float>&, Index, const float*, Index, double*);
template void symmetric_product(const Pairs<float>&, Index, const double*, Index, double*);
template void symmetric_product(const Pairs<double>&, Index, const double*, Index, double*);

} // namespace mercer
