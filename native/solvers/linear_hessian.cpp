#include "solvers/linear_hessian.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>

namespace mercer::linear {
namespace {

constexpr Index kMatrixWidth = 128;  // columns up to which the matrix costs less than the products it saves
constexpr Index kFactorWidth = 1500; // more columns than this: diagonal
constexpr Index kRowsPerColumn = 12; // rows of the factored preconditioner

} // namespace

template <class T> Hessian<T>::Hessian(const ExtendedRows<T>& rows) : rows_(rows), d_(rows.width()) {
    stride_ = (d_ + kPad - 1) / kPad * kPad;
}
template <class T> bool Hessian<T>::exact() const { return d_ <= kMatrixWidth; }
template <class T> bool Hessian<T>::factored() const { return d_ <= kFactorWidth; }

template <class T> void Hessian<T>::build(const std::vector<Index>& active, const LinearProblem& problem) {
    active_ = active;
    problem_ = &problem;
    changes_ = 0;
    if (!factored()) return diagonal();
    const Index n = Index(active.size()), m = exact() ? n : std::min(n, kRowsPerColumn * d_);
    std::vector<Index> chosen; // evenly spread
    for (Index j = 0; j < m; ++j) chosen.push_back(active[std::size_t(j * n / m)]);
    matrix_.assign(std::size_t(d_ * stride_ + kPad), 0.0);
    for (Index k = 0; k < d_; ++k) matrix_[std::size_t(k * stride_ + k)] = 1.0;
    accumulate(chosen, m > 0 ? double(n) / double(m) : 1.0, matrix_);
    if (exact())
        L_ = matrix_;
    else
        L_.swap(matrix_); // of some of the rows it is good for nothing else
    factor();
}

template <class T> void Hessian<T>::follow(const std::vector<Index>& active, const std::vector<Index>& came,
                                           const std::vector<Index>& went) {
    changes_ += Index(came.size() + went.size());
    if (changes_ * 2 > Index(active.size())) return build(active, *problem_); // what rounding has left ends here, too
    active_ = active;
    if (!exact() || (came.empty() && went.empty())) return;
    accumulate(came, 1.0, matrix_);
    accumulate(went, -1.0, matrix_);
    L_ = matrix_;
    factor();
}

template <class T> void Hessian<T>::diagonal() {
    diagonal_.assign(std::size_t(d_), 1.0);
    const Source<T>& x = rows_.source();
    for (Index i : active_) {
        const double D = 1 / problem_->terms[std::size_t(i)].ridge;
        diagonal_.back() += D * rows_.constant() * rows_.constant();
        if (x.sparse())
            for (Index p = x.indptr[i]; p < x.indptr[i + 1]; ++p)
                diagonal_[std::size_t(x.indices[p])] += D * double(x.values[p]) * double(x.values[p]);
        else
            for (Index k = 0; k < x.columns; ++k) {
                const double v = double(x.data[i * x.row_stride + k]);
                diagonal_[std::size_t(k)] += D * v * v;
            }
    }
}

// sum += scale X_S'D X_S, lower triangle.
template <class T> void Hessian<T>::accumulate(const std::vector<Index>& chosen, double scale, Vector& sum) const {
    const double each = rows_.density() * rows_.density();
    // A large matrix is not worth having several times.
    const Index parts = exact() ? parts_of(double(chosen.size()) * each, double(sum.size())) : 1;
    if (parts == 1) return accumulate(chosen, 0, chosen.size(), scale, sum.data());
    Vector partial(std::size_t(parts) * sum.size(), 0.0);
    over_parts(parts, Index(chosen.size()), [&](Index part, Index begin, Index end) {
        double* own = partial.data() + std::size_t(part) * sum.size();
        accumulate(chosen, std::size_t(begin), std::size_t(end), scale, own);
    });
    for (std::size_t start = 0; start < partial.size(); start += sum.size())
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += partial[start + k];
}

template <class T> void Hessian<T>::accumulate(const std::vector<Index>& chosen, std::size_t begin, std::size_t end,
                                               double scale, double* sum) const {
    const Source<T>& x = rows_.source();
    const Index last = d_ - 1;
    if (x.sparse()) { // sorted columns: row by row, each entry with those before it
        for (std::size_t j = begin; j < end; ++j) {
            const Index i = chosen[j];
            poll();
            const double D = scale / problem_->terms[std::size_t(i)].ridge;
            const Index first = x.indptr[i], count = x.indptr[i + 1] - first;
            const T* values = x.values + first;
            const std::int32_t* at = x.indices + first;
            for (Index p = 0; p < count; ++p)
                rows_.fast().sparse_add(p + 1, D * double(values[p]), values, at, sum + at[p] * stride_);
            rows_.fast().sparse_add(count, D * rows_.constant(), values, at, sum + last * stride_);
            sum[last * stride_ + last] += D * rows_.constant() * rows_.constant();
        }
        return;
    }
    constexpr std::size_t depth = 64;
    Vector block(depth * std::size_t(stride_), 0.0);
    for (std::size_t start = begin; start < end; start += depth) {
        const std::size_t count = std::min(depth, end - start);
        for (std::size_t j = 0; j < count; ++j) {
            const Index i = chosen[start + j];
            const double root = std::sqrt(std::abs(scale) / problem_->terms[std::size_t(i)].ridge);
            double* to = block.data() + j * std::size_t(stride_);
            for (Index k = 0; k < last; ++k) to[k] = root * double(x.data[i * x.row_stride + k]);
            to[last] = root * rows_.constant();
        }
        rows_.fast().gram(Index(count), d_, stride_, scale < 0 ? -1.0 : 1.0, block.data(), sum);
        poll();
    }
}

// Cholesky's factorisation in place, 64 columns at a time; columns_ holds them transposed for the update.
template <class T> void Hessian<T>::factor() {
    constexpr Index width = 64;
    const auto& fast = loops<double>();
    for (Index start = 0; start < d_; start += width) {
        const Index stop = std::min(start + width, d_), rest = d_ - start;
        const Index stride = stride_;
        columns_.assign(std::size_t(width * stride), 0.0);
        for (Index k = start; k < stop; ++k) { // row k - start of columns_: column k of L, from row `start` on
            double* c = columns_.data() + (k - start) * stride;
            for (Index i = k; i < d_; ++i) c[i - start] = L_[std::size_t(i * stride + k)];
            for (Index j = start; j < k; ++j) {
                const double* before = columns_.data() + (j - start) * stride;
                fast.add(d_ - k, -before[k - start], before + (k - start), c + (k - start));
            }
            const double root = std::sqrt(std::max(c[k - start], 1e-300));
            for (Index i = k; i < d_; ++i) c[i - start] /= root;
            for (Index i = k; i < d_; ++i) L_[std::size_t(i * stride + k)] = c[i - start];
        }
        if (stop < d_) { // the rest -= its part of these columns times itself transposed
            const Index shift = stop - start;
            Vector part(std::size_t(shift * stride), 0.0);
            for (Index k = 0; k < shift; ++k)
                std::copy_n(columns_.data() + k * stride + shift, rest - shift, part.data() + k * stride);
            fast.gram(shift, rest - shift, stride, -1.0, part.data(), L_.data() + stop * stride + stop);
        }
        poll();
    }
}

template <class T> void Hessian<T>::product(const Vector& p, Vector& h) {
    const std::size_t d = p.size();
    if (exact()) {
        const auto& fast = loops<double>();
        h.assign(d, 0.0);
        for (std::size_t i = 0; i < d; ++i) { // row i of the triangle is column i, too
            const double* row = matrix_.data() + i * std::size_t(stride_);
            h[i] += fast.dot(Index(i) + 1, row, p.data());
            fast.add(Index(i), p[i], row, h.data());
        }
        return;
    }
    const std::size_t parts = std::size_t(parts_of(2 * rows_.density() * double(active_.size()), double(d)));
    partial_.assign(parts * d, 0.0);
    over_parts(Index(parts), Index(active_.size()), [&](Index part, Index begin, Index end) {
        double* sum = partial_.data() + std::size_t(part) * d;
        for (Index j = begin; j < end; ++j) {
            const Index i = active_[std::size_t(j)];
            rows_.add(i, rows_.dot(i, p.data()) / problem_->terms[std::size_t(i)].ridge, sum);
        }
    });
    h = p;
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t k = 0; k < d; ++k) h[k] += partial_[part * d + k];
}

template <class T> void Hessian<T>::solve(const Vector& r, Vector& z) const {
    if (!factored()) {
        for (std::size_t k = 0; k < r.size(); ++k) z[k] = r[k] / diagonal_[k];
        return;
    }
    const auto& fast = loops<double>();
    for (Index i = 0; i < d_; ++i) {
        const double* row = L_.data() + i * stride_;
        z[std::size_t(i)] = (r[std::size_t(i)] - fast.dot(i, row, z.data())) / row[i];
    }
    for (Index i = d_ - 1; i >= 0; --i) {
        const double* row = L_.data() + i * stride_;
        z[std::size_t(i)] /= row[i];
        fast.add(i, -z[std::size_t(i)], row, z.data());
    }
}

template class Hessian<float>;
template class Hessian<double>;

} // namespace mercer::linear
