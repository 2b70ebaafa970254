#include "kernels/pairs.hpp"

#include "memory/buffer.hpp"

#include <algorithm>

namespace mercer {

template <class T>
void Pairs<T>::stream(const Index* index, Index rows, Index first_column, Index last_column, const Visit& visit) const {
    static thread_local Buffer<T> memory;
    const Index columns = last_column - first_column;
    const Index height = std::max<Index>(1, std::min<Index>(rows, (Index(1) << 20) / std::max<Index>(1, columns)));
    T* block = memory.reserve(std::size_t(height * columns));
    for (Index r = 0; r < rows; r += height) {
        const Index count = std::min(height, rows - r);
        fill(index + r, 0, count, first_column, last_column, block, columns);
        visit(r, count, first_column, last_column, block, columns);
    }
}

template class Pairs<float>;
template class Pairs<double>;

} // namespace mercer
