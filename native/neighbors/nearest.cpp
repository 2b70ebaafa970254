#include "neighbors/nearest.hpp"

#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace mercer {
namespace {

template <class T> struct Candidate {
    T value;
    Index column;
    // Later in the order of neighbours: so a heap has the farthest on top.
    bool operator<(const Candidate& other) const {
        return value < other.value || (value == other.value && column < other.column);
    }
};

// The k smallest entries of some rows, as far as they have been seen.
template <class T> class Heaps {
  public:
    Heaps(Index rows, Index k, T scale, const T* offset)
        : k_(k), scale_(scale), offset_(offset), limits_(std::size_t(rows), std::numeric_limits<T>::infinity()),
          heaps_(static_cast<std::size_t>(rows)) {
        for (auto& heap : heaps_) heap.reserve(std::size_t(k));
    }

    // The columns j0 .. j1 - 1 of row r. A piece of them is looked at more closely only if it holds a smaller value
    // than the largest kept, which soon is seldom.
    void see(Index r, const T* values, Index j0, Index j1) {
        constexpr Index kPiece = 32;
        const T* offset = offset_ + j0;
        Index j = 0;
        for (; j + kPiece <= j1 - j0; j += kPiece) {
            const T limit = limits_[std::size_t(r)];
            int smaller = 0;
            for (Index c = j; c < j + kPiece; ++c) smaller += scale_ * values[c] + offset[c] < limit;
            if (smaller || limit == std::numeric_limits<T>::infinity()) push(r, values, j0, j, j + kPiece);
        }
        push(r, values, j0, j, j1 - j0);
    }

    void write(Index r, Index* index, T* value) {
        auto& heap = heaps_[std::size_t(r)];
        std::sort_heap(heap.begin(), heap.end());
        for (std::size_t c = 0; c < heap.size(); ++c) index[c] = heap[c].column, value[c] = heap[c].value;
    }

  private:
    void push(Index r, const T* values, Index j0, Index first, Index last) {
        auto& heap = heaps_[std::size_t(r)];
        for (Index c = first; c < last; ++c) {
            const Candidate<T> entry{T(scale_ * values[c] + offset_[j0 + c]), j0 + c};
            if (Index(heap.size()) == k_) {
                if (!(entry < heap.front())) continue;
                std::pop_heap(heap.begin(), heap.end());
                heap.back() = entry;
            } else {
                heap.push_back(entry);
            }
            std::push_heap(heap.begin(), heap.end());
            if (Index(heap.size()) == k_) limits_[std::size_t(r)] = heap.front().value;
        }
    }

    Index k_;
    T scale_;
    const T* offset_;
    std::vector<T> limits_; // infinity until k entries have been seen
    std::vector<std::vector<Candidate<T>>> heaps_;
};

// Rows of a task: enough to be worth packing together, few enough for all threads to have some.
Index height(Index rows, Index grain) {
    const Index share = (rows + 4 * thread_count() - 1) / (4 * thread_count());
    return std::max<Index>(1, std::min(grain, share));
}

} // namespace

template <class T> void nearest(const Pairs<T>& pairs, Index rows, Index columns, T scale, const T* offset, Index k,
                                Index* index, T* value) {
    const Index many = height(rows, pairs.grain());
    parallel((rows + many - 1) / many, [&](long t) {
        const Index first = t * many, count = std::min(many, rows - first);
        std::vector<Index> which(static_cast<std::size_t>(count));
        std::iota(which.begin(), which.end(), first);
        Heaps<T> heaps(count, k, scale, offset);
        pairs.stream(which.data(), count, 0, columns,
                     [&](Index r, Index some, Index j0, Index j1, const T* block, Index stride) {
                         for (Index i = 0; i < some; ++i) heaps.see(r + i, block + i * stride, j0, j1);
                         poll();
                     });
        for (Index i = 0; i < count; ++i) heaps.write(i, index + (first + i) * k, value + (first + i) * k);
    });
}

template <class T> void nearest(const T* block, Index stride, Index rows, Index columns, T scale, const T* offset,
                                Index k, Index* index, T* value) {
    parallel(rows, [&](long i) {
        Heaps<T> heap(1, k, scale, offset);
        heap.see(0, block + i * stride, 0, columns);
        heap.write(0, index + i * k, value + i * k);
    });
}

template <class T> void squared_distances(const Source<T>& x, const Source<T>& z, const double* scale, Index k,
                                          const Index* index, double* out) {
    const Index d = x.columns, many = height(x.rows, 64);
    const std::vector<double> ones(scale ? 0 : std::size_t(d), 1.0);
    const double* factor = scale ? scale : ones.data();
    parallel((x.rows + many - 1) / many, [&](long t) {
        std::vector<T> a(static_cast<std::size_t>(d)), b(static_cast<std::size_t>(d));
        for (Index i = t * many; i < std::min(x.rows, (t + 1) * many); ++i) {
            x.read(i, a.data());
            for (Index r = i * k; r < (i + 1) * k; ++r) {
                z.read(index[r], b.data());
                double sums[8] = {}; // in this order for every pair, whatever the processor
                Index c = 0;
                auto difference = [&](Index at) {
                    return factor[at] * (double(a[std::size_t(at)]) - double(b[std::size_t(at)]));
                };
                for (; c + 8 <= d; c += 8)
                    for (Index l = 0; l < 8; ++l) sums[l] += difference(c + l) * difference(c + l);
                for (; c < d; ++c) sums[c % 8] += difference(c) * difference(c);
                out[r] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
            }
        }
    });
}

#define MERCER_NEAREST(T)                                                                                              \
    template void nearest(const Pairs<T>&, Index, Index, T, const T*, Index, Index*, T*);                              \
    template void nearest(const T*, Index, Index, Index, T, const T*, Index, Index*, T*);                              \
    template void squared_distances(const Source<T>&, const Source<T>&, const double*, Index, const Index*, double*);
MERCER_NEAREST(float)
MERCER_NEAREST(double)

} // namespace mercer
