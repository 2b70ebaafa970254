// A small pool of threads that shares out numbered tasks. Which thread runs a task never changes its result.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <stdexcept>

namespace mercer {

// Thrown out of parallel() when the interrupt hook asked to stop.
struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// Runs task(0) .. task(count - 1), the caller taking part; returns when all are done. The first exception
// thrown by a task is thrown again here, and the tasks not yet begun are dropped. At most `most` threads take part.
void parallel(long count, const std::function<void(long)>& task, int most = std::numeric_limits<int>::max());

// While one lives, its thread does alone what it starts: for work that is done before another thread would be awake.
class OnThisThread {
  public:
    explicit OnThisThread(bool really = true);
    ~OnThisThread();
    OnThisThread(const OnThisThread&) = delete;

  private:
    bool before_;
};

// For long tasks: throws Interrupted if the work this thread takes part in should stop. Costs next to nothing.
void poll();

// For tasks of many short steps, of a nanosecond or a few each: polls once in kEvery of them.
class PollCounter {
  public:
    void add(std::size_t steps) {
        if ((done_ += steps) < kEvery) return;
        done_ = 0;
        poll();
    }

  private:
    static constexpr std::size_t kEvery = std::size_t(1) << 17;
    std::size_t done_ = 0;
};

int thread_count();
void set_thread_count(int count); // at least 1

// Asked now and then by the thread that called parallel(); true means stop.
void set_interrupt_hook(std::function<bool()> hook);

} // namespace mercer
