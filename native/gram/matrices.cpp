#include "gram/matrices.hpp"

#include "costs.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

namespace mercer {

// Rows are computed in blocks of about this size, or of as many rows, if that is more.
constexpr std::size_t kBlock = std::size_t(16) << 20;
constexpr Index kRows = 64;

// Makes ready for rows within what the packed samples and all else that is kept leave of the budget. What a solver has
// kept stays, and no room is made for more.
template <class T> void make_ready(MatrixMemory& memory, const Gram<T>& gram, std::size_t budget) {
    using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
    KeptRows<T>& kept = memory.rows<T>();
    const Index n = gram.size();
    const std::size_t taken = gram.bytes() + memory.bytes<Other>() + memory.common_bytes<T>();
    const std::size_t left = budget - std::min(budget, taken);
    Index fit = gram.cost() > costs::kRead ? std::min<Index>(n, Index(left / KeptRows<T>::bytes_each(n))) : 0;
    if (kept.length() == n && kept.capacity() > 0) fit = std::min(fit, kept.capacity());
    kept.prepare(n, fit, 1);
}

template <class T>
bool read_rows(const Matrices& matrices, const std::vector<Index>& rows, std::size_t budget, T* out) {
    const Gram<T>* gram = matrices.of<T>();
    if (!gram) return false;
    const MatrixMemory::Use use(matrices.memory);
    if (!use) return false;
    const Index n = gram->size();
    make_ready(matrices.memory, *gram, budget);
    KeptRows<T>& kept = matrices.memory.rows<T>();
    kept.begin_round();
    std::vector<std::pair<Index, Index>> missing; // rows, and where in out they go; some may be asked for twice
    for (Index i = 0; i < Index(rows.size()); ++i)
        if (const T* known = kept.find(rows[std::size_t(i)])) {
            kept.use(rows[std::size_t(i)]);
            std::copy_n(known, n, out + i * n);
        } else {
            missing.emplace_back(rows[std::size_t(i)], i);
        }
    std::sort(missing.begin(), missing.end());
    const auto most = std::max<std::size_t>(std::size_t(kRows), kBlock / (std::size_t(n) * sizeof(T)));
    std::vector<Index> some;
    std::vector<T> fresh;
    for (auto at = missing.begin(); at != missing.end();) {
        some.clear();
        auto end = at;
        for (; end != missing.end(); ++end) {
            if (!some.empty() && some.back() == end->first) continue;
            if (some.size() == most) break;
            some.push_back(end->first);
        }
        fresh.resize(some.size() * std::size_t(n));
        gram->all().fill(some.data(), 0, Index(some.size()), 0, n, fresh.data(), n);
        matrices.memory.computed += Index(some.size());
        kept.claim(some);
        const T* row = fresh.data();
        for (Index which : some) {
            for (; at != end && at->first == which; ++at) std::copy_n(row, n, out + at->second * n);
            if (T* place = kept.place(which)) std::copy_n(row, n, place);
            row += n;
        }
    }
    return true;
}

template bool read_rows(const Matrices&, const std::vector<Index>&, std::size_t, float*);
template bool read_rows(const Matrices&, const std::vector<Index>&, std::size_t, double*);

} // namespace mercer
