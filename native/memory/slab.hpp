// Large memory that is lent out and comes back. The first touch of fresh memory costs more than much of what is done
// with it, so what comes back is kept for the next borrower; the system may take its pages meanwhile if it needs them.
// What is kept makes way for what is new: both together take no more than what was lent at the worst moment.
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <utility>

namespace mercer {

// There is no memory of this size.
class OutOfMemory : public std::bad_alloc {
  public:
    explicit OutOfMemory(std::size_t bytes);
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::string text_;
};

class Slab {
  public:
    Slab() = default;
    ~Slab() { release(); }
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    // At least this many bytes, uninitialised, on a huge page's boundary if that large; the contents are lost.
    // OutOfMemory if there are none, even without what is kept.
    void* reserve(std::size_t bytes);
    void* data() const { return data_; }
    void release();
    void swap(Slab& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(touched_, other.touched_);
    }

  private:
    void* data_ = nullptr;
    std::size_t size_ = 0, touched_ = 0; // bytes there are, and of these the first ones that may have been written
};

// Of what is kept, gives back to the system whatever exceeds this number of bytes.
void keep_at_most(std::size_t bytes);
// All of it, and the addresses too.
void drop_slabs();

} // namespace mercer
