#include "gram/common_rows.hpp"

#include <algorithm>

namespace mercer {

template <class T> void read_rows(const Pairs<T>& pairs, const std::vector<Index>& rows, Index first, Index last,
                                  const std::vector<T*>& out) {
    if (rows.empty()) return;
    pairs.stream(rows.data(), Index(rows.size()), first, last,
                 [&](Index r, Index count, Index j0, Index j1, const T* block, Index stride) {
                     for (Index i = 0; i < count; ++i)
                         std::copy_n(block + i * stride, j1 - j0, out[std::size_t(r + i)] + (j0 - first));
                 });
}

template <class T> CommonRows<T>::CommonRows(const Gram<T>& gram, const std::vector<Run>& runs, std::size_t budget)
    : gram_(gram), wanted_(runs) {
    for (const auto& [first, last] : runs) {
        const auto length = std::size_t(last - first);
        const std::size_t bytes = length * length * sizeof(T);
        if (bytes_ + bytes > budget) continue;
        squares_.push_back({first, last, bytes_ / sizeof(T), std::make_unique<std::atomic<std::uint8_t>[]>(length)});
        bytes_ += bytes;
    }
    if (bytes_ > 0) memory_.reserve(bytes_);
}

template <class T> Index CommonRows<T>::complete() {
    Square& square = squares_.front();
    const Index n = square.last - square.first;
    Index fresh = 0;
    for (Index r = 0; r < n; ++r) fresh += square.state[std::size_t(r)] != ready;
    if (fresh == 0) return 0;
    gram_.all().fill_symmetric(kept(square, 0), n);
    for (Index r = 0; r < n; ++r) square.state[std::size_t(r)] = ready;
    return fresh;
}

template <class T> Index CommonRows<T>::read(const std::vector<Index>& samples, Index first, Index last,
                                             const std::vector<T*>& out) const {
    const auto square = std::find_if(squares_.begin(), squares_.end(),
                                     [&](const Square& s) { return s.first <= first && last <= s.last; });
    // Rows that are missing are computed and kept; those that another thread is at are computed for here alone.
    std::vector<Index> mine, others;
    std::vector<T*> to_keep, to;
    std::vector<std::uint8_t> copied(samples.size(), 0);
    for (std::size_t r = 0; r < samples.size(); ++r) {
        std::uint8_t seen = busy;
        if (square != squares_.end() && samples[r] >= square->first && samples[r] < square->last) {
            seen = missing;
            if (square->state[std::size_t(samples[r] - square->first)].compare_exchange_strong(seen, busy)) {
                mine.push_back(samples[r]);
                to_keep.push_back(kept(*square, samples[r]));
                seen = ready; // before it is read
            }
        }
        copied[r] = seen == ready;
        if (copied[r]) continue;
        others.push_back(samples[r]);
        to.push_back(out[r]);
    }
    const Index computed = Index(mine.size() + others.size());
    auto leave_as = [&](RowState state) {
        for (Index s : mine) square->state[std::size_t(s - square->first)] = state;
    };
    try {
        read_rows(gram_.all(), others, first, last, to);
        if (square == squares_.end()) return computed;
        read_rows(gram_.all(), mine, square->first, square->last, to_keep);
    } catch (...) {
        leave_as(missing);
        throw;
    }
    leave_as(ready);
    for (std::size_t r = 0; r < samples.size(); ++r)
        if (copied[r]) std::copy_n(kept(*square, samples[r]) + (first - square->first), last - first, out[r]);
    return computed;
}

template void read_rows(const Pairs<float>&, const std::vector<Index>&, Index, Index, const std::vector<float*>&);
template void read_rows(const Pairs<double>&, const std::vector<Index>&, Index, Index, const std::vector<double*>&);
template class CommonRows<float>;
template class CommonRows<double>;

} // namespace mercer
