#include "solvers/perceptron.hpp"
#include "solvers/linear.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace mercer::perceptron {

template <class T> void pass(const Source<T>& source, const Index* order, Index count, const Examples& examples,
                             double* weights, Index* mistakes) {
    // A constant of 0: the bias, kept in the place of the constant's weight, has a step of its own.
    const linear::ExtendedRows<T> rows(source, 0.0);
    parallel(examples.outputs, [&](long c) {
        double* w = weights + c * rows.width();
        double& b = w[source.columns];
        for (Index t = 0; t < count; ++t) {
            if (t % 256 == 0) poll();
            const Index i = order[t];
            const double y = examples.sign(i, c);
            if (y * (rows.dot(i, w) + b) > 0) continue;
            const double s = y * examples.weight[i];
            rows.add(i, s, w);
            b += s * examples.radius;
            ++mistakes[c];
        }
    });
}

namespace {

// A pass over a block: values of f at the examples still to come are kept up to date with every change.
template <class T> class PerceptronPass {
  public:
    PerceptronPass(const KernelBlock<T>& block, const Examples& examples, KernelState& state)
        : block_(block), examples_(examples), state_(state), value_(std::size_t(block.rows * examples.outputs)) {
        for (Index j = 0; j < block.columns(); ++j) used_ += used(j);
        parallel(block.rows, [&](long i) { begin(i); });
    }

    void run(Index budget, Index* mistakes) {
        for (Index i = 0; i < block_.rows; ++i) {
            // An example that was given up earlier in this block comes back as a new one, of its new age.
            const bool known = used(block_.own[i]);
            const Index own = known ? block_.own[i] : block_.support + i;
            bool wrong = false;
            for (Index c = 0; c < examples_.outputs; ++c) {
                const double y = examples_.sign(i, c);
                if (y * (value(i, c) + state_.bias[c]) > 0) continue;
                learn(i, own, c, y * examples_.weight[i]);
                ++mistakes[c];
                wrong = true;
            }
            used_ += wrong && !known;
            if (budget && used_ > budget) forget(i, weakest(own));
        }
    }

  private:
    double& value(Index i, Index c) { return value_[std::size_t(i * examples_.outputs + c)]; }
    double* coefficients(Index j) const { return state_.coefficients + j * examples_.outputs; }
    T kernel(Index i, Index j) const { return block_.kernel[i * block_.columns() + j]; }
    bool used(Index j) const {
        const double* a = coefficients(j);
        return std::any_of(a, a + examples_.outputs, [](double v) { return v != 0; });
    }

    void begin(Index i) {
        double* f = &value(i, 0);
        for (Index j = 0; j < block_.columns(); ++j) {
            const double k = double(kernel(i, j));
            const double* a = coefficients(j);
            for (Index c = 0; c < examples_.outputs; ++c) f[c] += k * a[c];
        }
    }

    // Adds s times the example i, whose coefficients are those of column `own`, to output c.
    void learn(Index i, Index own, Index c, double s) {
        const double before = double(state_.clock + i);
        coefficients(own)[c] += s;
        state_.late[own * examples_.outputs + c] += s * before;
        state_.bias[c] += s * examples_.radius;
        state_.late_bias[c] += s * examples_.radius * before;
        for (Index j = i + 1; j < block_.rows; ++j) value(j, c) += s * double(kernel(j, block_.support + i));
    }

    Index weakest(Index newest) const {
        Index found = newest;
        double least = std::numeric_limits<double>::infinity();
        for (Index j = 0; j < block_.columns(); ++j) {
            if (j == newest || !used(j)) continue;
            const double* a = coefficients(j);
            double size = 0;
            for (Index c = 0; c < examples_.outputs; ++c) size += a[c] * a[c];
            size *= block_.diagonal[j];
            if (size < least) least = size, found = j;
        }
        return found;
    }

    // As if the victim had never been learnt: the steps of the bias that came with it are taken back, too.
    void forget(Index i, Index victim) {
        double* a = coefficients(victim);
        for (Index c = 0; c < examples_.outputs; ++c) {
            state_.bias[c] -= a[c] * examples_.radius;
            state_.late_bias[c] -= state_.late[victim * examples_.outputs + c] * examples_.radius;
        }
        for (Index j = i + 1; j < block_.rows; ++j)
            for (Index c = 0; c < examples_.outputs; ++c) value(j, c) -= a[c] * double(kernel(j, victim));
        std::fill(a, a + examples_.outputs, 0.0);
        std::fill_n(state_.late + victim * examples_.outputs, examples_.outputs, 0.0);
        --used_;
    }

    const KernelBlock<T>& block_;
    const Examples& examples_;
    KernelState& state_;
    std::vector<double> value_; // of f without the bias, (rows, outputs)
    Index used_ = 0;            // columns with coefficients
};

} // namespace

template <class T>
void pass(const KernelBlock<T>& block, const Examples& examples, Index budget, KernelState& state, Index* mistakes) {
    PerceptronPass<T>(block, examples, state).run(budget, mistakes);
}

template void pass(const Source<float>&, const Index*, Index, const Examples&, double*, Index*);
template void pass(const Source<double>&, const Index*, Index, const Examples&, double*, Index*);
template void pass(const KernelBlock<float>&, const Examples&, Index, KernelState&, Index*);
template void pass(const KernelBlock<double>&, const Examples&, Index, KernelState&, Index*);

} // namespace mercer::perceptron
