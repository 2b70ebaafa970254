#include "memory/slab.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace mercer {
namespace {

constexpr std::size_t kHugePage = std::size_t(2) << 20;
constexpr std::align_val_t kAlignment{kHugePage};
constexpr std::size_t kMost = 16;                     // slabs kept
constexpr std::size_t kSpare = 4;                     // times what is asked for may be lent
constexpr std::size_t kSmall = std::size_t(32) << 20; // not worth a word to the system
constexpr std::size_t kTrim = std::size_t(8) << 20;   // from here on, what is too large is cut to size

// A slab that came back. What lies beyond the bytes touched has no memory behind it.
struct Kept {
    std::size_t size, touched;
    void* data;
    bool operator<(const Kept& other) const { return size < other.size; }
};

std::mutex g_mutex;
// Never destroyed: a slab may come back while the process ends.
auto& g_kept = *new std::vector<Kept>;

#if defined(__unix__) || defined(__APPLE__)
// A fork waits until no other thread is at the list: in the child nobody would let go of the mutex.
[[maybe_unused]] const int g_at_fork =
    pthread_atfork([] { g_mutex.lock(); }, [] { g_mutex.unlock(); }, [] { g_mutex.unlock(); });
#endif

void free_slab(void* data) { ::operator delete(data, kAlignment); }

std::size_t whole_pages(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// Gives this number of bytes at the end of what was touched back to the system; all of them where that cannot be done
// in parts. Returns how many.
std::size_t shorten(Kept& slab, std::size_t bytes) {
#if defined(__linux__)
    const std::size_t cut = std::min(slab.touched, whole_pages(bytes));
    madvise(static_cast<char*>(slab.data) + (slab.touched - cut), cut, MADV_DONTNEED);
#else
    const std::size_t cut = bytes > 0 ? slab.touched : 0;
#endif
    slab.touched -= cut;
    return cut;
}

// Gives back `bytes` of what is kept. The ends of the largest: what does not fill its slab has left them
// untouched, so that they cost nothing.
void give_back(std::size_t bytes) {
    std::sort(g_kept.begin(), g_kept.end());
    while (bytes > 0 && !g_kept.empty()) {
        bytes -= std::min(bytes, shorten(g_kept.back(), bytes));
        if (g_kept.back().touched > 0) break;
        free_slab(g_kept.back().data);
        g_kept.pop_back();
    }
}

void free_kept() {
    for (const Kept& slab : g_kept) free_slab(slab.data);
    g_kept.clear();
}

} // namespace

OutOfMemory::OutOfMemory(std::size_t bytes)
    : text_("there is no memory for " + std::to_string((bytes + 999'999) / 1'000'000) + " MB more") {}

void* Slab::reserve(std::size_t bytes) {
    bytes = whole_pages(bytes);
    if (bytes <= touched_) return data_;
    if (bytes > size_) release();
    std::lock_guard lock(g_mutex);
    if (!data_) {
        // The smallest that is large enough, but not much too large.
        std::sort(g_kept.begin(), g_kept.end());
        const auto fits = std::lower_bound(g_kept.begin(), g_kept.end(), Kept{bytes, 0, nullptr});
        if (fits != g_kept.end() && fits->size <= kSpare * bytes) {
            if (fits->touched > bytes && bytes >= kTrim) shorten(*fits, fits->touched - bytes);
            std::tie(size_, touched_, data_) = std::tie(fits->size, fits->touched, fits->data);
            g_kept.erase(fits);
        }
    }
    give_back(bytes - std::min(bytes, touched_));
    if (!data_) {
        data_ = ::operator new(bytes, kAlignment, std::nothrow);
        if (!data_) {
            free_kept(); // which has no memory behind it by now, but addresses, and these may be limited, too
            data_ = ::operator new(bytes, kAlignment, std::nothrow);
        }
        if (!data_) throw OutOfMemory(bytes);
        size_ = bytes;
#if defined(__linux__)
        madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    }
    touched_ = std::max(touched_, bytes);
    return data_;
}

void Slab::release() {
    if (!data_) return;
    Kept slab{std::exchange(size_, 0), std::exchange(touched_, 0), std::exchange(data_, nullptr)};
    if (slab.size > kSmall) {
#if defined(__linux__) && defined(MADV_FREE)
        madvise(slab.data, slab.touched, MADV_FREE);
#else // nobody else could have it while it is kept
        return free_slab(slab.data);
#endif
    }
    std::lock_guard lock(g_mutex);
    g_kept.push_back(slab);
    if (g_kept.size() > kMost) {
        const auto least = std::min_element(g_kept.begin(), g_kept.end());
        free_slab(least->data);
        g_kept.erase(least);
    }
}

void keep_at_most(std::size_t bytes) {
    std::lock_guard lock(g_mutex);
    std::size_t kept = 0;
    for (const Kept& slab : g_kept) kept += slab.touched;
    give_back(kept - std::min(kept, bytes));
}

void drop_slabs() {
    std::lock_guard lock(g_mutex);
    free_kept();
}

} // namespace mercer
