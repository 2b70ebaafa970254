// Memory that is lent out: what comes back is lent again, the smallest that fits; everything can be given back.
#include "check.hpp"
#include "memory/buffer.hpp"
#include "memory/slab.hpp"
#include "threads/pool.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace mercer;

constexpr std::size_t kMegabyte = std::size_t(1) << 20;

static void what_comes_back_is_lent_again() {
    drop_slabs();
    Slab small, large;
    void* first = small.reserve(3 * kMegabyte);
    void* second = large.reserve(9 * kMegabyte);
    CHECK(first != second);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % (2 * kMegabyte) == 0);
    std::memset(first, 1, 3 * kMegabyte);
    std::memset(second, 2, 9 * kMegabyte);
    CHECK(small.reserve(kMegabyte) == first); // enough already
    small.release();
    large.release();
    CHECK(!small.data() && !large.data());
    Slab other;
    CHECK(other.reserve(5 * kMegabyte) == second); // the small one is too small
    CHECK(large.reserve(1) == first);
    other.release();
    CHECK(small.reserve(0) == nullptr || small.data());
    // Growing loses the contents but not what was there: it goes back for the next one.
    CHECK(large.reserve(9 * kMegabyte) == second);
    CHECK(small.reserve(2 * kMegabyte) == first);
}

static void more_than_are_kept() {
    drop_slabs();
    {
        std::vector<Slab> slabs(20);
        for (std::size_t i = 0; i < slabs.size(); ++i)
            std::memset(slabs[i].reserve((i % 5 + 1) * kMegabyte), int(i), (i % 5 + 1) * kMegabyte);
        for (std::size_t i = 0; i < slabs.size(); ++i)
            CHECK(*static_cast<unsigned char*>(slabs[i].data()) == i); // nobody has been given another's
    }
    drop_slabs();
    drop_slabs();
}

static void threads_share_them() {
    set_thread_count(4);
    for (int round = 0; round < 20; ++round)
        parallel(16, [&](long i) {
            Slab slab;
            const std::size_t bytes = std::size_t(1 + i % 3) * kMegabyte;
            auto* data = static_cast<unsigned char*>(slab.reserve(bytes));
            data[0] = data[bytes - 1] = static_cast<unsigned char>(i);
            CHECK(data[0] == i && data[bytes - 1] == i);
        });
    // Too large to be kept without a word to the system, and whole when lent again.
    Slab slab;
    std::memset(slab.reserve(40 * kMegabyte), 3, 40 * kMegabyte);
    slab.release();
    std::memset(slab.reserve(40 * kMegabyte), 4, 40 * kMegabyte);
    CHECK(static_cast<unsigned char*>(slab.data())[40 * kMegabyte - 1] == 4);
}

// Not under sanitizers, which keep memory of their own for every byte of ours.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MERCER_RESIDENT
static std::size_t resident() {
    std::size_t total = 0, pages = 0;
    std::ifstream("/proc/self/statm") >> total >> pages;
    return pages * std::size_t(sysconf(_SC_PAGESIZE));
}

// Of what is kept the larger ones lose their ends first.
static void what_is_too_much_goes_back() {
    drop_slabs();
    {
        Slab first, second;
        std::memset(first.reserve(40 * kMegabyte), 1, 40 * kMegabyte);
        std::memset(second.reserve(24 * kMegabyte), 2, 24 * kMegabyte);
    }
    const std::size_t before = resident();
    keep_at_most(64 * kMegabyte); // as much as there is
    CHECK(resident() + kMegabyte > before);
    keep_at_most(34 * kMegabyte);
    CHECK(resident() + 29 * kMegabyte < before && resident() + 31 * kMegabyte > before);
    keep_at_most(12 * kMegabyte); // more than the larger of the two
    CHECK(resident() + 51 * kMegabyte < before && resident() + 53 * kMegabyte > before);
    Slab slab;
    std::memset(slab.reserve(40 * kMegabyte), 3, 40 * kMegabyte);
    CHECK(resident() + 23 * kMegabyte < before && resident() + 25 * kMegabyte > before); // the rest has made way
    slab.release();
    keep_at_most(0);
    CHECK(resident() + 63 * kMegabyte < before);
}

// Whatever is asked for in whatever order: what is kept and what is lent never take more than what was lent at the
// worst moment, here 80 megabytes.
static void what_is_kept_makes_way() {
    drop_slabs();
    const std::size_t before = resident();
    for (const std::vector<std::size_t>& sizes :
         {std::vector<std::size_t>{64, 16}, {34, 40, 4}, {20, 20, 20, 20}, {78}, {10, 36, 34}}) {
        std::vector<Slab> slabs(sizes.size());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            std::memset(slabs[i].reserve(sizes[i] * kMegabyte), 1, sizes[i] * kMegabyte);
            CHECK(resident() < before + 84 * kMegabyte);
        }
    }
    // One that grows into memory of its own which it had given back.
    Slab slab;
    std::memset(slab.reserve(40 * kMegabyte), 1, 40 * kMegabyte);
    std::memset(slab.reserve(78 * kMegabyte), 1, 78 * kMegabyte);
    CHECK(resident() < before + 84 * kMegabyte);
}
#endif

#if defined(MERCER_RESIDENT)
// Whatever other threads are at when a process is forked: the child, in which they are gone, has memory.
static void forked_children_have_memory() {
    std::atomic<bool> done{false};
    std::vector<std::thread> others;
    for (int t = 0; t < 3; ++t)
        others.emplace_back([&] {
            while (!done) {
                Slab slab;
                slab.reserve(kMegabyte);
            }
        });
    bool finished = true;
    for (int round = 0; round < 200 && finished; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(5); // ends a child that waits for ever
            Slab slab;
            slab.reserve(kMegabyte);
            _exit(0);
        }
        int status = -1;
        finished = waitpid(child, &status, 0) == child && status == 0;
    }
    CHECK(finished);
    done = true;
    for (std::thread& other : others) other.join();
}
#endif

static void buffers_grow_and_move() {
    Buffer<double> a;
    CHECK(a.reserve(0) == nullptr && a.size() == 0);
    double* first = a.reserve(100);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
    CHECK(a.reserve(50) == first && a.size() == 100);
    Buffer<double> b(std::move(a));
    CHECK(b.data() == first && b.size() == 100);
    Buffer<double> c(400000); // on huge pages
    CHECK(reinterpret_cast<std::uintptr_t>(c.data()) % (2 * kMegabyte) == 0);
    c = std::move(b);
    CHECK(c.data() == first);
    c.reserve(500000)[499999] = 1;
}

int main() {
    what_comes_back_is_lent_again();
    more_than_are_kept();
    threads_share_them();
    buffers_grow_and_move();
#if defined(MERCER_RESIDENT)
    what_is_too_much_goes_back();
    what_is_kept_makes_way();
    forked_children_have_memory();
#endif
    drop_slabs();
    return check::finish();
}
