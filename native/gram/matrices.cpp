#include "gram/matrices.hpp"

#include "costs.hpp"

#include <algorithm>

namespace mercer {

template <class T>
bool read_rows(const Matrices& matrices, const std::vector<Index>& rows, std::size_t budget, T* out) {
    const Gram<T>* gram = matrices.of<T>();
    if (!gram) return false;
    const MatrixMemory::Use use(matrices.memory);
    if (!use) return false;
    const Index n = gram->size();
    KeptRows<T>& kept = matrices.memory.rows<T>();
    if (kept.length() != n) {
        const std::size_t left = budget - std::min(budget, gram->bytes());
        const Index fit = std::min<Index>(n, Index(left / KeptRows<T>::bytes_each(n)));
        kept.prepare(n, gram->cost() > costs::kRead ? fit : 0, 1);
    }
    kept.begin_round();
    std::vector<Index> missing;
    for (Index row : rows)
        if (kept.find(row))
            kept.use(row);
        else
            missing.push_back(row);
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    // A row may be asked for more than once, and its place may go to another one meanwhile.
    std::vector<T> fresh(missing.size() * std::size_t(n));
    gram->all().fill(missing.data(), 0, Index(missing.size()), 0, n, fresh.data(), n);
    matrices.memory.computed += Index(missing.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const T* known = kept.find(rows[i]);
        if (!known)
            known = fresh.data() + (std::lower_bound(missing.begin(), missing.end(), rows[i]) - missing.begin()) * n;
        std::copy_n(known, n, out + Index(i) * n);
    }
    kept.claim(missing);
    for (std::size_t i = 0; i < missing.size(); ++i)
        if (T* place = kept.place(missing[i])) std::copy_n(fresh.data() + Index(i) * n, n, place);
    return true;
}

template bool read_rows(const Matrices&, const std::vector<Index>&, std::size_t, float*);
template bool read_rows(const Matrices&, const std::vector<Index>&, std::size_t, double*);

} // namespace mercer
