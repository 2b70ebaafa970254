#include "kernels/one_by_one.hpp"

#include "threads/pool.hpp"

#include <algorithm>

namespace mercer {
namespace {

constexpr Index kTile = 16; // rows and columns of a task

Index tiles(Index n) { return (n + kTile - 1) / kTile; }

} // namespace

void OneByOne::fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, double* out,
                    Index stride) const {
    const Index across = tiles(last_column - first_column);
    parallel(tiles(rows) * across, [&](long t) {
        const Index r0 = t / across * kTile, j0 = first_column + t % across * kTile;
        for (Index r = r0; r < std::min(rows, r0 + kTile); ++r) {
            poll();
            for (Index j = j0; j < std::min(last_column, j0 + kTile); ++j)
                out[r * stride + j - first_column] = value(index ? index[r] : first_row + r, j);
        }
    });
}

void OneByOne::fill_symmetric(double* out, Index stride) const {
    const Index n = tiles(columns());
    parallel(n * n, [&](long t) {
        const Index r0 = t / n * kTile, j0 = t % n * kTile;
        if (j0 < r0) return;
        for (Index r = r0; r < std::min(rows(), r0 + kTile); ++r) {
            poll();
            for (Index j = std::max(r, j0); j < std::min(columns(), j0 + kTile); ++j)
                out[r * stride + j] = out[j * stride + r] = value(r, j);
        }
    });
}

void OneByOne::fill_diagonal(double* out) const {
    parallel(tiles(rows()), [&](long t) {
        poll();
        for (Index i = t * kTile; i < std::min(rows(), (t + 1) * kTile); ++i) out[i] = value(i, i);
    });
}

} // namespace mercer
