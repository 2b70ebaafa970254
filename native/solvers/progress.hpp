// What all solvers do alike when somebody wants to know how far they have come.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

namespace mercer {

// How often progress is reported.
inline constexpr double kReportEvery = 0.2; // seconds

// Says when it is time to report: at once, and then now and then.
class Pulse {
  public:
    bool due() {
        const auto now = Clock::now();
        if (begun_ && now - last_ < std::chrono::duration<double>(kReportEvery)) return false;
        begun_ = true;
        last_ = now;
        return true;
    }

  private:
    using Clock = std::chrono::steady_clock;
    bool begun_ = false;
    Clock::time_point last_;
};

// Reports come one at a time, from any thread; once one is told to stop (true), all are.
template <class Progress>
std::function<bool(const Progress&)> one_at_a_time(const std::function<bool(const Progress&)>& progress) {
    if (!progress) return progress;
    struct SharedStop {
        std::mutex mutex;
        bool stop = false;
    };
    return [progress, state = std::make_shared<SharedStop>()](const Progress& reached) {
        std::lock_guard lock(state->mutex);
        return state->stop = state->stop || progress(reached);
    };
}

} // namespace mercer
