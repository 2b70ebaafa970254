// Uninitialised memory that starts on a cache line and, where it is large, on a huge page.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

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
            alignment_ = std::align_val_t{bytes < kHugePage ? kLine : kHugePage};
            data_ = static_cast<T*>(::operator new(bytes, alignment_));
            size_ = size;
#if defined(__linux__)
            if (bytes >= kHugePage) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
        }
        return data_;
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }

  private:
    static constexpr std::size_t kLine = 64, kHugePage = std::size_t(2) << 20;
    void swap(Buffer& other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(alignment_, other.alignment_);
    }
    void release() {
        if (data_) ::operator delete(data_, alignment_);
        data_ = nullptr;
        size_ = 0;
    }
    T* data_ = nullptr;
    std::size_t size_ = 0;
    std::align_val_t alignment_{kLine};
};

} // namespace mercer
