// The most recently used rows of a matrix, within a budget of bytes. Any number of threads may use it at once.
#pragma once

#include "samples/source.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace mercer {

template <class T> class RowCache {
  public:
    RowCache(Index columns, std::size_t budget);
    // Copies the row into out and makes it the most recent; false if it is not here.
    bool get(Index row, T* out);
    // Keeps a copy, dropping the least recently used rows; does nothing if not even one row fits.
    void put(Index row, const T* values);
    Index columns() const { return columns_; }
    std::size_t capacity() const { return capacity_; } // rows
    std::size_t size() const;
    std::size_t hits() const;
    std::size_t misses() const;

  private:
    struct Entry {
        Index row;
        std::unique_ptr<T[]> values;
    };
    mutable std::mutex mutex_;
    const Index columns_;
    const std::size_t capacity_;
    std::size_t hits_ = 0, misses_ = 0;
    std::list<Entry> recent_; // most recent first
    std::unordered_map<Index, typename std::list<Entry>::iterator> where_;
};

} // namespace mercer
