#include "solvers/inner_solver.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mercer {
namespace {

// A curvature below zero by less than this share of the diagonal may be rounding.
template <class T> constexpr double kRounded = sizeof(T) == 4 ? 1e-5 : 1e-12;

} // namespace

template <class T> void InnerSolver<T>::choose(const Problem& problem, const std::vector<Index>& which,
                                               const std::vector<double>& diagonal) {
    problem_ = &problem;
    which_ = which;
    given_ = diagonal;
    fetch_ = nullptr;
    there_ = nullptr;
    size_ = Index(which.size());
    stride_ = (size_ + kScanUnit - 1) / kScanUnit * kScanUnit;
    T* memory = arrays_.reserve(std::size_t(6 * stride_));
    for (T** array : {&slope_, &diagonal_, &rise_[0], &rise_[1], &fall_[0], &fall_[1]})
        *array = memory, memory += stride_;
}

template <class T> void InnerSolver<T>::make_room() {
    ready_.clear();
    matrix_.reserve(std::size_t(size_ * stride_) * sizeof(T));
}

template <class T> void InnerSolver<T>::fetch_with(Fetch fetch, bool ahead) {
    fetch_ = std::move(fetch);
    ahead_ = ahead;
    if (has_rows()) return;
    fetched_ = 0;
    ready_.assign(std::size_t(size_), 0);
}

template <class T> const T* InnerSolver<T>::row(Index i) {
    if (there_) return there_ + i * there_stride_;
    if (fetch_ && !ready_[std::size_t(i)]) fetch(i);
    return matrix() + i * stride_;
}

template <class T> void InnerSolver<T>::fetch(Index i) {
    wanted_.assign(1, i);
    if (ahead_) add_likely(wanted_);
    places_.clear();
    for (Index k : wanted_) places_.push_back(matrix() + k * stride_);
    if (fetch_(wanted_, places_)) {
        wanted_.resize(std::size_t(size_));
        std::iota(wanted_.begin(), wanted_.end(), Index(0));
    }
    for (Index k : wanted_) {
        std::fill(matrix() + k * stride_ + size_, matrix() + (k + 1) * stride_, T(0));
        ready_[std::size_t(k)] = 1;
    }
    fetched_ += Index(wanted_.size());
}

// The rows that are likely to be next: of the coefficients that would rise most and of those that would fall most.
template <class T> void InnerSolver<T>::add_likely(std::vector<Index>& which) const {
    const Index i = which.front();
    constexpr int kEach = 3;
    struct Best {
        T key = -std::numeric_limits<T>::infinity();
        Index where = -1;
    } up[kEach], down[kEach];
    auto consider = [](Best* best, T key, Index where) {
        if (!(key > best[kEach - 1].key)) return;
        int k = kEach - 1;
        for (; k > 0 && key > best[k - 1].key; --k) best[k] = best[k - 1];
        best[k] = {key, where};
    };
    for (Index k = 0; k < size_; ++k) {
        if (ready_[std::size_t(k)] || k == i) continue;
        for (int g = 0; g < problem_->groups; ++g) {
            consider(up, slope_[k] + rise_[g][k], k);
            consider(down, -(slope_[k] + fall_[g][k]), k);
        }
    }
    for (int k = 0; k < kEach; ++k)
        for (Index next : {up[k].where, down[k].where})
            if (next >= 0 && Index(which.size()) < 2 * kEach && !std::count(which.begin(), which.end(), next))
                which.push_back(next);
}

template <class T> void InnerSolver<T>::refresh(Index i) {
    const int g = problem_->group_of(which_[i]);
    rise_[g][i] = T(problem_->rise(which_[i], a_[i]));
    fall_[g][i] = T(problem_->fall(which_[i], a_[i]));
}

// Moves i up and j down by the same t, to the minimum between them or to a bound. False if nothing holds them.
template <class T> bool InnerSolver<T>::advance(Index i, Index j) {
    const Index p = which_[i], r = which_[j];
    const double above = problem_->room_above(p, a_[i]), below = problem_->room_below(r, a_[j]);
    const int g = problem_->group_of(p);
    const double difference = double(slope_[i] + rise_[g][i]) - double(slope_[j] + fall_[g][j]);
    const double own = std::abs(double(diagonal_[i])) + std::abs(double(diagonal_[j]));
    double curvature = double(diagonal_[i]) + double(diagonal_[j]) - 2 * double(row(i)[j]);
    const double of_kernel = curvature - problem_->ridge[p] - problem_->ridge[r];
    if (of_kernel < -kRounded<T> * own)
        negative_.lower({of_kernel / own, problem_->sample_of(p), problem_->sample_of(r)});
    const double least = (sizeof(T) == 4 ? 1e-7 : 1e-14) * own;
    const bool flat = !(curvature > least);
    if (flat) curvature = std::max(least, 1e-300);
    double t = difference / curvature;
    if (std::min(above, below) <= t) {
        t = std::min(above, below);
        if (std::isinf(t)) return false;
    } else if (flat && std::isinf(above) && std::isinf(below)) {
        return false;
    }
    // Exactly onto the bound that was reached, or that only rounding is in the way of: a coefficient next to its bound
    // would count as free, and the bias, where no other is, hang on it alone.
    const double top = a_[i] < 0 && problem_->l1[p] > 0 ? 0.0 : problem_->upper[p];
    const double bottom = a_[j] > 0 && problem_->l1[r] > 0 ? 0.0 : problem_->lower[r];
    const auto onto = [](double a, double bound, double before) {
        constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();
        return std::abs(a - bound) < kRounding * std::max(std::abs(before), std::abs(bound)) ? bound : a;
    };
    a_[i] = t == above ? top : onto(std::min(a_[i] + t, top), top, a_[i]);
    a_[j] = t == below ? bottom : onto(std::max(a_[j] - t, bottom), bottom, a_[j]);
    return true;
}

template <class T> void InnerSolver<T>::solve(const std::vector<double>& a, const std::vector<double>& slopes,
                                              double tol, Index max_steps, Outcome& outcome) {
    const Scans<T>& scan = scans<T>();
    const T infinity = std::numeric_limits<T>::infinity();
    const int groups = problem_->groups;
    a_ = a;
    for (Index i = 0; i < stride_; ++i) {
        slope_[i] = i < size_ ? T(slopes[std::size_t(i)]) : T(0);
        diagonal_[i] = i < size_ ? T(given_[std::size_t(i)] + problem_->ridge[which_[std::size_t(i)]]) : T(1);
        for (int g = 0; g < 2; ++g) rise_[g][i] = -infinity, fall_[g][i] = infinity;
        if (i < size_) refresh(i);
    }
    for (Index i = 0; i < size_ && !fetch_ && !there_; ++i)
        std::fill(matrix() + i * stride_ + size_, matrix() + (i + 1) * stride_, T(0));

    outcome = {};
    Extreme<T> top[2];
    for (int g = 0; g < groups; ++g) top[g] = scan.largest(stride_, slope_, rise_[g]);
    for (;; ++outcome.steps) {
        Index i = -1, j = -1;
        T gain = -1;
        outcome.violation = 0;
        for (int g = 0; g < groups; ++g) {
            if (!(top[g].value > -infinity)) continue;
            const Index k = top[g].where;
            const Partner<T> partner =
                scan.partner(stride_, slope_, fall_[g], row(k), diagonal_, diagonal_[k], top[g].value);
            const double violation = double(top[g].value) - double(partner.lowest);
            outcome.violation = std::max(outcome.violation, violation);
            if (violation > tol && partner.gain > gain) gain = partner.gain, i = k, j = partner.where;
        }
        if (i < 0 || outcome.steps >= max_steps) return;
        if ((outcome.steps & 4095) == 4095) poll();
        // Both rows are there before anything moves: an interruption leaves no coefficient whose row is still to come.
        const T *row_i = row(i), *row_j = row(j);
        const double before_i = a_[std::size_t(i)], before_j = a_[std::size_t(j)];
        if (!advance(i, j)) {
            outcome.unbounded = true;
            return;
        }
        refresh(i);
        refresh(j);
        const T di = T(a_[std::size_t(i)] - before_i), dj = T(a_[std::size_t(j)] - before_j);
        // The ridge is on the diagonal alone; the scan below knows only K.
        slope_[i] -= T(problem_->ridge[which_[std::size_t(i)]] * double(di));
        slope_[j] -= T(problem_->ridge[which_[std::size_t(j)]] * double(dj));
        top[0] = scan.step(stride_, slope_, di, row_i, dj, row_j, rise_[0]);
        if (groups == 2) top[1] = scan.largest(stride_, slope_, rise_[1]);
    }
}

template class InnerSolver<float>;
template class InnerSolver<double>;

} // namespace mercer
