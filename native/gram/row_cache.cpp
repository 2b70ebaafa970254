#include "gram/row_cache.hpp"

#include <algorithm>
#include <utility>

namespace mercer {

template <class T> RowCache<T>::RowCache(Index columns, std::size_t budget)
    : columns_(columns), capacity_(columns > 0 ? budget / (std::size_t(columns) * sizeof(T)) : 0) {}

template <class T> bool RowCache<T>::get(Index row, T* out) {
    std::lock_guard lock(mutex_);
    auto found = where_.find(row);
    if (found == where_.end()) {
        ++misses_;
        return false;
    }
    ++hits_;
    recent_.splice(recent_.begin(), recent_, found->second);
    std::copy_n(found->second->values.get(), columns_, out);
    return true;
}

template <class T> void RowCache<T>::put(Index row, const T* values) {
    std::lock_guard lock(mutex_);
    if (capacity_ == 0 || where_.count(row)) return;
    if (recent_.size() < capacity_) {
        recent_.push_front({row, std::unique_ptr<T[]>(new T[std::size_t(columns_)])});
    } else { // the oldest row's memory is used again: first touch of new pages costs more than the copy
        recent_.splice(recent_.begin(), recent_, std::prev(recent_.end()));
        where_.erase(recent_.front().row);
        recent_.front().row = row;
    }
    std::copy_n(values, columns_, recent_.front().values.get());
    where_[row] = recent_.begin();
}

template <class T> std::size_t RowCache<T>::size() const {
    std::lock_guard lock(mutex_);
    return recent_.size();
}
template <class T> std::size_t RowCache<T>::hits() const {
    std::lock_guard lock(mutex_);
    return hits_;
}
template <class T> std::size_t RowCache<T>::misses() const {
    std::lock_guard lock(mutex_);
    return misses_;
}

template class RowCache<float>;
template class RowCache<double>;

} // namespace mercer
