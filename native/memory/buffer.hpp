// Uninitialised memory that starts on a cache line; where it is large, it is a slab.
#pragma once

#include "memory/slab.hpp"

#include <cstddef>
#include <new>
#include <utility>

namespace mercer {

template <class T> class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t size) { reserve(size); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() { release(); }
    // Grows to at least `size` elements; the contents are lost.
    T* reserve(std::size_t size) {
        if (size > size_) {
            release();
            const std::size_t bytes = size * sizeof(T);
            data_ = static_cast<T*>(bytes < kLarge ? ::operator new(bytes, kLine) : slab_.reserve(bytes));
            size_ = size;
        }
        return data_;
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    static constexpr std::align_val_t kLine{64};
    static constexpr std::size_t kLarge = std::size_t(2) << 20;
    void swap(Buffer& other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        slab_.swap(other.slab_);
    }
    void release() {
        if (data_ && !slab_.data()) ::operator delete(data_, kLine);
        slab_.release();
        data_ = nullptr;
        size_ = 0;
    }
    T* data_ = nullptr;
    std::size_t size_ = 0;
    Slab slab_;
};

} // namespace mercer
