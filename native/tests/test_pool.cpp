// The pool: every task once, exceptions, nesting, work alone, counts, the interrupt hook, and tasks that ask it
// themselves.
#include "check.hpp"
#include "threads/pool.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace mercer;

static void every_task_runs_once() {
    for (int threads : {1, 2, 3, 8})
        for (long count : {-1L, 0L, 1L, 2L, 7L, 1000L}) {
            set_thread_count(threads);
            std::vector<std::atomic<int>> times(count > 0 ? std::size_t(count) : 0);
            parallel(count, [&](long i) { ++times[std::size_t(i)]; });
            for (auto& t : times) CHECK(t == 1);
        }
}

static void rounds_follow_each_other() {
    set_thread_count(4);
    std::atomic<long> total{0};
    for (int round = 0; round < 2000; ++round) parallel(5, [&](long i) { total += i; });
    CHECK(total == 2000 * 10);
}

static void an_exception_comes_back_and_the_pool_goes_on() {
    for (int threads : {1, 4}) {
        set_thread_count(threads);
        for (long bad : {0L, 57L, 99L}) {
            std::atomic<long> done{0};
            auto task = [&](long i) {
                if (i == bad) throw std::domain_error("task " + std::to_string(i));
                ++done;
            };
            CHECK_THROWS(std::domain_error, parallel(100, task));
            CHECK(done < 100);
            std::atomic<long> again{0};
            parallel(100, [&](long) { ++again; });
            CHECK(again == 100);
        }
        CHECK_THROWS(std::domain_error, parallel(8, [](long) { throw std::domain_error("all"); }));
    }
    set_thread_count(1);
    long done = 0;
    CHECK_THROWS(std::domain_error, parallel(100, [&](long i) {
                     if (i == 10) throw std::domain_error("stop");
                     ++done;
                 }));
    CHECK(done == 10); // tasks not yet begun are dropped
}

static void calls_nest() {
    set_thread_count(4);
    std::atomic<long> total{0};
    parallel(
        6, [&](long i) { parallel(10, [&](long j) { parallel(2, [&](long k) { total += 100 * i + 10 * j + k; }); }); });
    CHECK(total == 100 * 15 * 20 + 10 * 45 * 12 + 60);
    CHECK_THROWS(std::domain_error,
                 parallel(3, [](long) { parallel(3, [](long) { throw std::domain_error("inside"); }); }));
}

static void several_threads_may_call_it_at_once() {
    set_thread_count(3);
    std::atomic<long> total{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 5; ++c)
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round) parallel(20, [&](long i) { total += i; });
        });
    for (auto& caller : callers) caller.join();
    CHECK(total == 5 * 200 * 190);
}

// Whoever is alone calls no other thread, but may be stopped as ever; others, and it itself later, are not alone.
static void alone_means_on_this_thread() {
    using namespace std::chrono_literals;
    set_thread_count(2);
    const auto elsewhere = [] {
        const auto caller = std::this_thread::get_id();
        std::atomic<int> count{0};
        parallel(100, [&](long) {
            if (std::this_thread::get_id() != caller) ++count;
            std::this_thread::sleep_for(1ms);
        });
        return count > 0;
    };
    CHECK(elsewhere());
    {
        const OnThisThread outer;
        CHECK(!elsewhere());
        {
            const OnThisThread inner(false);
            CHECK(!elsewhere());
        }
        CHECK(!elsewhere());
        bool helped = false;
        std::thread other([&] { helped = elsewhere(); });
        other.join();
        CHECK(helped);
        CHECK_THROWS(std::domain_error, parallel(2, [](long) { throw std::domain_error("alone"); }));
        set_interrupt_hook([] { return true; });
        CHECK_THROWS(Interrupted, elsewhere());
        set_interrupt_hook(nullptr);
    }
    const OnThisThread not_really(false);
    CHECK(elsewhere());
}

// Helpers are found asleep as well as awake.
static void work_comes_after_a_while() {
    using namespace std::chrono_literals;
    set_thread_count(3);
    std::atomic<long> total{0};
    for (int round = 0; round < 200; ++round) {
        parallel(5, [&](long i) { total += i; });
        std::this_thread::sleep_for(std::chrono::microseconds(round));
    }
    CHECK(total == 200 * 10);
}

static void the_count_is_kept_and_checked() {
    for (int n : {1, 5, 2}) {
        set_thread_count(n);
        CHECK(thread_count() == n);
    }
    CHECK_THROWS(std::invalid_argument, set_thread_count(0));
    CHECK_THROWS(std::invalid_argument, set_thread_count(-3));
    CHECK(thread_count() == 2);
}

static void the_interrupt_hook_stops_the_work() {
    using namespace std::chrono_literals;
    for (int threads : {1, 2}) {
        set_thread_count(threads);
        std::atomic<bool> asked{false};
        set_interrupt_hook([&] { return asked.exchange(true), true; });
        std::atomic<long> done{0};
        CHECK_THROWS(Interrupted, parallel(100000, [&](long) {
                         std::this_thread::sleep_for(1ms);
                         ++done;
                     }));
        CHECK(asked);
        CHECK(done < 100000);
        set_interrupt_hook([] { return false; });
        std::atomic<long> calm{0};
        parallel(150, [&](long) {
            std::this_thread::sleep_for(1ms);
            ++calm;
        });
        CHECK(calm == 150);
        set_interrupt_hook(nullptr);
    }
}

// The caller has no task left, but is asked still while it waits for a helper that works long.
static void a_waiting_caller_is_asked_too() {
    using namespace std::chrono_literals;
    set_thread_count(2);
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> helper_began{false};
    set_interrupt_hook([] { return true; });
    auto task = [&](long) {
        if (std::this_thread::get_id() == caller) {
            for (int i = 0; i < 200 && !helper_began; ++i) std::this_thread::sleep_for(100us); // within one poll
        } else {
            helper_began = true;
            std::this_thread::sleep_for(300ms);
        }
    };
    bool stopped = false;
    try {
        parallel(2, task);
    } catch (const Interrupted&) {
        stopped = true;
    }
    CHECK(stopped || !helper_began);
    set_interrupt_hook(nullptr);
}

// Long tasks ask for themselves: the caller's thread asks the hook, the others whether their job has been stopped.
static void poll_stops_long_tasks() {
    using namespace std::chrono_literals;
    poll(); // no hook, no job: nothing happens
    set_interrupt_hook([] { return false; });
    poll();
    for (int threads : {1, 2, 3}) {
        set_thread_count(threads);
        const auto caller = std::this_thread::get_id();
        std::atomic<int> asked{0}, elsewhere{0}, ended{0};
        set_interrupt_hook([&] {
            if (std::this_thread::get_id() != caller) ++elsewhere;
            return ++asked == 2;
        });
        const auto began = std::chrono::steady_clock::now();
        CHECK_THROWS(Interrupted, parallel(3, [&](long) {
                         struct End {
                             std::atomic<int>& ended;
                             ~End() { ++ended; }
                         } end{ended};
                         // Inside a nested job too.
                         for (;;)
                             parallel(2, [](long) {
                                 poll();
                                 std::this_thread::sleep_for(1ms);
                             });
                     }));
        CHECK(asked == 2 && elsewhere == 0);
        CHECK(ended >= 1 && ended <= threads);
        CHECK(std::chrono::steady_clock::now() - began < 20s);
        // The error of one task stops the others as well, at their next poll.
        set_interrupt_hook(nullptr);
        if (threads == 1) continue;
        std::atomic<bool> going{false};
        bool right = false;
        try {
            parallel(2, [&](long i) {
                if (i == 1) {
                    while (!going) std::this_thread::sleep_for(100us);
                    throw std::domain_error("task 1");
                }
                going = true;
                for (;;) {
                    poll();
                    std::this_thread::sleep_for(1ms);
                }
            });
        } catch (const std::domain_error&) {
            right = true; // not the Interrupted of the task that was stopped
        }
        CHECK(right);
    }
    // Outside of any job the hook is asked, though not at every call.
    int asked = 0;
    set_interrupt_hook([&] { return ++asked, false; });
    std::this_thread::sleep_for(60ms);
    for (int i = 0; i < 100000; ++i) poll();
    CHECK(asked >= 1 && asked < 100);
    set_interrupt_hook([] { return true; });
    std::this_thread::sleep_for(60ms);
    CHECK_THROWS(Interrupted, poll());
    set_interrupt_hook(nullptr);
    poll();
}

int main() {
    every_task_runs_once();
    rounds_follow_each_other();
    an_exception_comes_back_and_the_pool_goes_on();
    calls_nest();
    several_threads_may_call_it_at_once();
    alone_means_on_this_thread();
    work_comes_after_a_while();
    the_count_is_kept_and_checked();
    the_interrupt_hook_stops_the_work();
    a_waiting_caller_is_asked_too();
    poll_stops_long_tasks();
    return check::finish();
}
