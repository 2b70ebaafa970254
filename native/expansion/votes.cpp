#include "expansion/votes.hpp"

#include <algorithm>
#include <vector>

namespace mercer {

Index most_votes(const double* sums, Index stride, Index classes, const double* bias) {
    static thread_local std::vector<int> won;
    won.assign(std::size_t(classes), 0);
    for (Index i = 0; i + 1 < classes; ++i) {
        const double* of_first = sums + i * stride + i;
        const double* of_second = sums + (i + 1) * stride + i;
        int* others = won.data() + i + 1;
        int own = 0;
        const Index count = classes - 1 - i;
        for (Index j = 0; j < count; ++j) {
            const int wins = of_first[j] + of_second[j * stride] + bias[j] > 0;
            own += wins;
            others[j] += 1 - wins;
        }
        won[std::size_t(i)] += own;
        bias += count;
    }
    return std::max_element(won.begin(), won.end()) - won.begin();
}

} // namespace mercer
