#include "memory/slab.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mercer {
namespace {

constexpr std::size_t kHugePage = std::size_t(2) << 20;
constexpr std::align_val_t kAlignment{kHugePage};
constexpr std::size_t kMost = 16;                     // slabs kept
constexpr std::size_t kSpare = 4;                     // times what is asked for may be lent
constexpr std::size_t kSmall = std::size_t(32) << 20; // not worth a word to the system

std::mutex g_mutex;
// Never destroyed: a slab may come back while the process ends.
auto& g_kept = *new std::vector<std::pair<std::size_t, void*>>;

void free_slab(void* data) { ::operator delete(data, kAlignment); }

} // namespace

void* Slab::reserve(std::size_t bytes) {
    if (bytes <= size_) return data_;
    release();
    bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    {
        // The smallest that is large enough, but not much too large; failing that, the largest of those that are too
        // small makes way for a new one.
        std::lock_guard lock(g_mutex);
        std::sort(g_kept.begin(), g_kept.end());
        auto fits = std::lower_bound(g_kept.begin(), g_kept.end(), std::make_pair(bytes, static_cast<void*>(nullptr)));
        if (fits != g_kept.end() && fits->first <= kSpare * bytes) {
            std::tie(size_, data_) = *fits;
            g_kept.erase(fits);
            return data_;
        }
        if (fits != g_kept.begin()) {
            free_slab(std::prev(fits)->second);
            g_kept.erase(std::prev(fits));
        }
    }
    data_ = ::operator new(bytes, kAlignment);
    size_ = bytes;
#if defined(__linux__)
    madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    return data_;
}

void Slab::release() {
    if (!data_) return;
    if (size_ > kSmall) {
#if defined(__linux__) && defined(MADV_FREE)
        madvise(data_, size_, MADV_FREE);
#else // nobody else could have it while it is kept
        free_slab(data_);
        data_ = nullptr;
        size_ = 0;
        return;
#endif
    }
    std::lock_guard lock(g_mutex);
    g_kept.emplace_back(size_, data_);
    if (g_kept.size() > kMost) {
        auto least = std::min_element(g_kept.begin(), g_kept.end());
        free_slab(least->second);
        g_kept.erase(least);
    }
    data_ = nullptr;
    size_ = 0;
}

void keep_at_most(std::size_t bytes) {
    std::lock_guard lock(g_mutex);
    std::sort(g_kept.begin(), g_kept.end());
    std::size_t excess = 0;
    for (const auto& [size, data] : g_kept) excess += size;
    excess -= std::min(excess, bytes);
    // The ends of the largest: what does not fill its slab has left them untouched, so that they cost nothing.
    for (std::size_t k = g_kept.size(); k-- > 0 && excess > 0;) {
        const auto [size, data] = g_kept[k];
#if defined(__linux__)
        const std::size_t cut = std::min(size, (excess + kHugePage - 1) / kHugePage * kHugePage);
        madvise(static_cast<char*>(data) + (size - cut), cut, MADV_DONTNEED);
        excess -= std::min(excess, cut);
#else
        free_slab(data);
        g_kept.pop_back();
        excess -= std::min(excess, size);
#endif
    }
}

void drop_slabs() {
    std::lock_guard lock(g_mutex);
    for (auto& [size, data] : g_kept) free_slab(data);
    g_kept.clear();
}

} // namespace mercer
