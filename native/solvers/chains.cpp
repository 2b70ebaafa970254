#include "solvers/chains.hpp"

#include "solvers/progress.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

namespace mercer {
namespace {

// One chain on its way: the problem at a price, and the coefficients that go from each to the next.
class Walk {
  public:
    Walk(const Chain& chain, const std::vector<double>& prices)
        : base_(chain.problem), prices_(prices), numbers_(std::size_t(4 * chain.problem.count), 0.0) {
        double* const lower = numbers_.data();
        double* const upper = lower + base_.count;
        run_.problem = base_;
        run_.problem.lower = lower, run_.problem.upper = upper;
        std::copy(chain.total, chain.total + 2, run_.total);
        run_.a = upper + base_.count, run_.f = run_.a + base_.count;
        run_.known = true; // nothing yet
        run_.block = std::make_shared<InnerSolver<float>>();
        bound();
    }
    Walk(const Walk&) = delete;
    // Where it begins: at zero, of which the product is known.
    ProblemRun start() { return std::move(run_); }
    std::size_t at() const { return at_; }

    // Goes on to the next price; false if there is none.
    bool next(ProblemRun& run) {
        if (at_ + 1 == prices_.size()) {
            run.block.reset();
            return false;
        }
        const double scale = scale_to(prices_[at_ + 1] / prices_[at_]);
        ++at_;
        bound();
        for (Index p = 0; p < base_.count; ++p) {
            // Rounding alone can take what was at its bound beyond the new one.
            run.a[p] = std::clamp(scale * run.a[p], run.problem.lower[p], run.problem.upper[p]);
            run.f[p] *= scale;
        }
        run.known = run.plain;
        return true;
    }

  private:
    void bound() {
        double *lower = numbers_.data(), *upper = lower + base_.count;
        for (Index p = 0; p < base_.count; ++p)
            lower[p] = prices_[at_] * base_.lower[p], upper[p] = prices_[at_] * base_.upper[p];
    }
    // Coefficients at their bounds grow with these, free ones stay; of all multiples of a the best is taken.
    double scale_to(double ratio) const {
        if (ratio < 1) return ratio;
        double gain = 0, energy = 0;
        for (Index p = 0; p < base_.count; ++p) {
            gain += base_.q[p] * run_.a[p] - base_.l1[p] * std::abs(run_.a[p]);
            energy += run_.a[p] * run_.f[p];
        }
        return energy > 0 ? std::clamp(gain / energy, 1.0, ratio) : 1.0;
    }

    const Problem base_;
    const std::vector<double>& prices_;
    std::vector<double> numbers_; // lower, upper, a, f
    ProblemRun run_;
    std::size_t at_ = 0;
};

} // namespace

void solve_chains(const Matrices& matrices, const std::vector<Chain>& chains, const std::vector<double>& prices,
                  const Settings& settings, const Answered& answered, const std::function<bool()>& stop) {
    if (prices.empty()) return;
    std::mutex mutex;
    Pulse pulse;
    bool stopped = false;
    const auto asked_to_stop = [&] {
        if (!stop) return false;
        const std::lock_guard lock(mutex);
        return stopped = stopped || (pulse.due() && stop());
    };
    Settings within = settings;
    if (stop) within.stop = asked_to_stop;
    std::vector<ProblemRun> tasks;
    std::vector<std::unique_ptr<Walk>> walks;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        walks.push_back(std::make_unique<Walk>(chains[i], prices));
        tasks.push_back(walks.back()->start());
        tasks.back().next = [&, i](ProblemRun& run) {
            answered(i, walks[i]->at(), run);
            return !asked_to_stop() && walks[i]->next(run);
        };
    }
    solve(matrices, tasks, within);
}

} // namespace mercer
