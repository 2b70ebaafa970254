// How two sets of sparse samples are computed with: by an inverted index or through packed panels, and which
// coordinates go through panels beside the lists. A choice of time alone, from how many pairs have each coordinate in
// common.
#include "costs.hpp"
#include "kernels/packing.hpp"
#include "kernels/pairs.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mercer {
namespace {

// Dense panels of popular coordinates take up to this multiple of the memory of the compressed rows.
constexpr double kPanels = 2.5;
// A dense copy of the columns beyond 1 GiB is out of the question.
constexpr double kLargest = double(1 << 30);

// Of a coordinate in panels of the precision T.
template <class T> constexpr double kPanelled = costs::kPanelled * double(sizeof(T)) / 4;

// How many samples have each coordinate.
template <class T> std::vector<double> counts(const Source<T>& s) {
    std::vector<double> result(std::size_t(s.columns), 0.0);
    for (Index i = 0; i < s.rows; ++i)
        for (Index p = s.begin(i); p < s.end(i); ++p) ++result[s.indices[p]];
    return result;
}

template <class T> double compressed_bytes(const Source<T>& s) {
    return double(s.stored()) * (sizeof(T) + sizeof(*s.indices)) + double(s.rows) * sizeof(*s.indptr);
}

// How many pairs have each coordinate in common.
template <class S> std::vector<double> meetings(const Source<S>& x, const Source<S>& z) {
    std::vector<double> result = counts(x);
    const std::vector<double> of_z = same_rows(x, z) ? result : counts(z);
    for (std::size_t k = 0; k < result.size(); ++k) result[k] *= of_z[k];
    return result;
}

template <class S> Layout lists_of(const Source<S>& x, const Source<S>& z, const std::vector<double>& met) {
    Layout layout = {true, std::vector<std::int32_t>(std::size_t(z.columns), -1)};
    const bool one = same_rows(x, z);
    const double pairs = double(x.rows) * double(z.rows);
    std::vector<Index> popular;
    for (Index k = 0; k < Index(met.size()); ++k)
        if (costs::kMeet * met[k] > kPanelled<double> * pairs) popular.push_back(k);
    // The rows are packed a strip at a time; but the choice is to be the same for z and x.
    const double each = sizeof(double) * (double(z.rows) + (one ? 0.0 : double(x.rows)));
    const double most = kPanels * (compressed_bytes(z) + (one ? 0.0 : compressed_bytes(x))) / each;
    if (double(popular.size()) > most) { // those that save most
        std::stable_sort(popular.begin(), popular.end(), [&](Index a, Index b) { return met[a] > met[b]; });
        popular.resize(std::size_t(most));
        std::sort(popular.begin(), popular.end());
    }
    for (Index k : popular) layout.place[k] = static_cast<std::int32_t>(layout.panelled++);
    return layout;
}

} // namespace

// The largest difference is found by merging: nothing is in panels then.
template <class S> Layout listed_layout(const Source<S>& x, const Source<S>& z, const Formula& formula) {
    return lists_of(x, z, formula.reduction == Reduction::linf ? std::vector<double>{} : meetings(x, z));
}

template <class T, class S>
Layout best_layout(const Source<S>& x, const Source<S>& z, const Formula& formula, const Frame& frame) {
    if (!x.sparse() || !z.sparse()) return {};
    const double n = double(x.rows), m = double(z.rows), d = double(z.columns);
    if (m * d * sizeof(T) > kLargest) return listed_layout(x, z, formula);
    if (formula.reduction == Reduction::linf) return {};
    const std::vector<double> met = meetings(x, z);
    const Layout lists = lists_of(x, z, met);
    double cost = costs::kFinish * n * m + kPanelled<double> * n * m * double(lists.panelled);
    for (Index k = 0; k < z.columns; ++k)
        if (lists.place[k] < 0) cost += costs::kMeet * met[k];
    const Form form = form_of<T>(formula.reduction, z.columns, frame);
    const double each = form == Form::number ? kPanelled<T> : 0.25 * double(bytes_of<T>(form)) * kPanelled<float>;
    const double dense = each * n * m * d;
    return cost < dense ? lists : Layout{};
}

template Layout best_layout<float>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Layout best_layout<float>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template Layout best_layout<double>(const Source<float>&, const Source<float>&, const Formula&, const Frame&);
template Layout best_layout<double>(const Source<double>&, const Source<double>&, const Formula&, const Frame&);
template Layout listed_layout(const Source<float>&, const Source<float>&, const Formula&);
template Layout listed_layout(const Source<double>&, const Source<double>&, const Formula&);

} // namespace mercer
