#include "threads/pool.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace mercer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollEvery = std::chrono::milliseconds(50);

// A thread that is out of work looks for more so long before it sleeps: to be woken takes about as long, and costs
// whoever wakes it some of that.
constexpr auto kAwake = std::chrono::microseconds(50);

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits until there is an end of it, but not for long.
template <class F> void look_for(F over) {
    for (const auto until = Clock::now() + kAwake; !over() && Clock::now() < until;)
        for (int i = 0; i < 16; ++i) pause();
}

int default_thread_count() {
    if (const char* text = std::getenv("OMP_NUM_THREADS")) {
        int wanted = std::atoi(text);
        if (wanted > 0) return wanted;
    }
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// One round of work. It lives on the caller's stack; workers may touch it only while counted in `inside`.
struct Job {
    long count;
    const std::function<void(long)>& task;
    std::atomic<long> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr error;
    std::mutex error_mutex;

    Job(long n, const std::function<void(long)>& t) : count(n), task(t) {}

    void fail(std::exception_ptr e) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::move(e);
        stop = true;
    }
    // `between` runs on this thread after each task.
    template <class F> void work(F between) {
        for (long i; !stop && (i = next.fetch_add(1)) < count;) {
            try {
                task(i);
                between();
            } catch (...) {
                fail(std::current_exception());
            }
        }
    }
};

// Whether this thread is working on a job: what it starts meanwhile it does alone, and asks nobody about it.
thread_local bool nested = false;
// The job this thread takes part in, whether the pool started this thread, and when it last asked the hook.
thread_local const Job* current = nullptr;
thread_local bool worker = false;
thread_local Clock::time_point asked{};
thread_local bool alone = false;

class Pool {
  public:
    void run(Job& job, int threads, const std::function<bool()>& interrupted) {
        auto last = Clock::now();
        auto poll = [&] {
            if (!interrupted) return;
            auto now = Clock::now();
            if (now - last < kPollEvery) return;
            last = now;
            if (interrupted()) throw Interrupted();
        };
        // A nested or concurrent call runs on its own thread alone.
        if (nested) return job.work([] {});
        if (alone || threads < 2 || job.count < 2) return job.work(poll);
        std::unique_lock busy(busy_, std::try_to_lock);
        if (!busy) return job.work(poll);
        struct RunningJob {
            explicit RunningJob(const Job* job) {
                nested = true;
                current = job;
            }
            ~RunningJob() {
                nested = false;
                current = nullptr;
            }
        } mark(&job);
        int helpers = static_cast<int>(std::min<long>(threads, job.count)) - 1;
        bool asleep;
        {
            std::lock_guard lock(mutex_);
            while (static_cast<int>(workers_.size()) < helpers)
                workers_.emplace_back(&Pool::loop, this, static_cast<int>(workers_.size()), round_.load());
            job_ = &job;
            helpers_ = helpers;
            ++round_;
            asleep = asleep_ > 0;
        }
        if (asleep) wake_.notify_all();
        job.work(poll);
        // Helpers that have begun are waited for; one that wakes too late finds no job. To wake takes longer than a
        // small job.
        {
            std::lock_guard lock(mutex_);
            job_ = nullptr;
        }
        look_for([&] { return inside_ == 0; });
        if (inside_ == 0) return;
        std::unique_lock lock(mutex_);
        while (inside_ > 0) {
            done_.wait_for(lock, kPollEvery);
            if (inside_ > 0 && !job.stop) {
                lock.unlock();
                try {
                    poll();
                } catch (...) {
                    job.fail(std::current_exception());
                }
                lock.lock();
            }
        }
    }

    ~Pool() {
        {
            std::lock_guard lock(mutex_);
            quit_ = true;
            ++round_;
        }
        wake_.notify_all();
        for (auto& worker : workers_) worker.join();
    }

  private:
    void loop(int number, long seen) {
        nested = worker = true;
        for (;;) {
            Job* job;
            look_for([&] { return round_ != seen; });
            {
                std::unique_lock lock(mutex_);
                ++asleep_;
                wake_.wait(lock, [&] { return round_ != seen; });
                --asleep_;
                seen = round_;
                if (quit_) return;
                if (!job_ || number >= helpers_) continue;
                job = job_;
                ++inside_;
            }
            current = job;
            job->work([] {});
            current = nullptr;
            bool last;
            {
                std::lock_guard lock(mutex_);
                last = --inside_ == 0;
            }
            if (last) done_.notify_one();
        }
    }

    std::mutex busy_, mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    Job* job_ = nullptr;
    int helpers_ = 0;
    int asleep_ = 0;
    // Written by whoever holds the mutex.
    std::atomic<int> inside_ = 0;
    std::atomic<long> round_ = 0;
    bool quit_ = false;
};

std::atomic<int> g_threads{0};
std::function<bool()> g_interrupted;
Pool* g_pool = nullptr;
std::once_flag g_once;

// Threads do not survive fork(): the child starts with a fresh pool and leaks the parent's.
void forget_pool() { g_pool = new Pool; }

Pool& pool() {
    std::call_once(g_once, [] {
        g_pool = new Pool; // never destroyed: workers sleep until the process ends
#if defined(__unix__) || defined(__APPLE__)
        pthread_atfork(nullptr, nullptr, forget_pool);
#endif
    });
    return *g_pool;
}

} // namespace

int thread_count() {
    int n = g_threads.load();
    if (n == 0) {
        n = default_thread_count();
        g_threads = n;
    }
    return n;
}

void set_thread_count(int count) {
    if (count < 1)
        throw std::invalid_argument("the number of threads must be at least 1, not " + std::to_string(count));
    g_threads = count;
}

void set_interrupt_hook(std::function<bool()> hook) { g_interrupted = std::move(hook); }

OnThisThread::OnThisThread(bool really) : before_(std::exchange(alone, alone || really)) {}
OnThisThread::~OnThisThread() { alone = before_; }

void poll() {
    if (current && current->stop) throw Interrupted();
    if (worker || !g_interrupted) return;
    const auto now = Clock::now();
    if (now - asked < kPollEvery) return;
    asked = now;
    if (g_interrupted()) throw Interrupted();
}

void parallel(long count, const std::function<void(long)>& task, int most) {
    if (count <= 0) return;
    Job job(count, task);
    pool().run(job, std::min(thread_count(), most), g_interrupted);
    if (job.error) std::rethrow_exception(job.error);
}

} // namespace mercer
