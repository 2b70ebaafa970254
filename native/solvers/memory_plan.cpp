#include "solvers/memory_plan.hpp"

#include "solvers/problem_matrix.hpp"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

// The fewest coefficients of a working set, whatever the memory.
constexpr Index kLeast = 256;

// Bytes that a coefficient takes in vectors: seven of its problem (problem.hpp, a and f), eight of the decomposition
// and in problem_matrix.hpp, and four while a working set is chosen.
constexpr std::size_t kEach = (7 + 8 + 4) * sizeof(double);

// The samples of a working set are copied and packed twice, as rows and as columns; the copy may be of twice the width.
constexpr std::size_t kCopies = 4;

// What threads take for their tiles and blocks, and what memory by the page leaves unused.
constexpr std::size_t kBeside = std::size_t(4) << 20;

} // namespace

template <class T> MemoryPlan<T>::MemoryPlan(const Gram<T>& gram, const Problem& problem)
    : copies_(double(kCopies * gram.bytes_each())), packed_(gram.bytes()), each_(gram.bytes_each()),
      count_(problem.count) {
    const bool gathered = problem.count > kWhole && gram.cost() > costs::kGather; // a part, and the rest computed apart
    square_ = (gathered ? 2 : 1) * sizeof(T);
}

template <class T> std::size_t MemoryPlan<T>::of_vectors() const { return std::size_t(count_) * kEach; }

template <class T> std::size_t MemoryPlan<T>::beside() const { return of_vectors() + kBeside; }

template <class T> std::size_t MemoryPlan<T>::taken(Index working) const {
    const auto size = double(std::min(count_, working));
    return std::size_t(size * (square_ * size + copies_)) + beside();
}

template <class T> std::size_t MemoryPlan<T>::taken() const { return taken(kLarge); }

template <class T> std::size_t MemoryPlan<T>::left(Index working, std::size_t budget) const {
    const std::size_t used = packed_ + taken(working);
    return budget > used ? budget - used : 0;
}

template <class T> Index MemoryPlan<T>::largest(std::size_t bytes) const {
    const double half = copies_ / (2 * square_);
    const double size = std::sqrt(half * half + double(bytes) / square_) - half;
    return std::clamp(Index(size) + 1, kLeast, kLarge); // what taken() allows for, however that was rounded
}

template class MemoryPlan<float>;
template class MemoryPlan<double>;

} // namespace mercer
