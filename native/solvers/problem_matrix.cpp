#include "solvers/problem_matrix.hpp"

#include "kernels/transpose.hpp"
#include "solvers/scan.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace mercer {
namespace {

// Rows that are not dear are not kept at all if fewer than one in this number fits: they would be gone when they are
// wanted again.
constexpr Index kWorth = 4;
// A problem whose samples lie in more pieces than this gets a matrix of its own.
constexpr std::size_t kPieces = 4;

std::vector<Range> runs(const std::vector<Index>& samples) {
    std::vector<Range> result;
    for (Index c = 0; c < Index(samples.size()); ++c) {
        const Index shift = samples[std::size_t(c)] - c;
        if (result.empty() || result.back().shift != shift)
            result.push_back({c, c + 1, shift});
        else
            result.back().last = c + 1;
    }
    return result;
}

constexpr Index kTogether = 8; // batches of rows
constexpr Index kShare = 6;    // pieces of the columns for each thread

// The matrix among `count` consecutive samples: strips right of the diagonal, and their mirror images.
template <class T> void fill_symmetric(const Pairs<T>& pairs, Index first, Index count, T* out, Index stride) {
    constexpr Index kHeight = 96;
    parallel((count + kHeight - 1) / kHeight, [&](long t) {
        const Index i0 = t * kHeight, i1 = std::min(count, i0 + kHeight);
        T* strip = out + i0 * stride;
        pairs.fill(nullptr, first + i0, i1 - i0, first + i0, first + count, strip + i0, stride);
        transpose(i1 - i0, count - i1, strip + i1, stride, out + i1 * stride + i0, stride);
    });
}

} // namespace

template <class T>
std::vector<Run> common_runs(const Gram<T>& gram, const std::vector<const Problem*>& problems, std::size_t budget) {
    std::map<Run, int> uses;
    const auto all = std::size_t(gram.size());
    Index read = 0;
    for (const Problem* problem : problems) {
        if (problem->count > kWhole) continue;
        std::vector<Index> samples;
        for (Index p = 0; p < problem->count; ++p) samples.push_back(problem->sample_of(p));
        const std::vector<Range> pieces = runs(samples);
        if (pieces.size() > kPieces) continue;
        for (const Range& r : pieces) ++uses[{r.first + r.shift, r.last + r.shift}];
        read += problem->count;
    }
    const bool whole = read >= 2 * gram.size() && all * all * sizeof(T) <= budget && !gram.all().narrow();
    if (whole) return {{0, gram.size()}};
    std::vector<Run> result;
    for (const auto& [run, count] : uses)
        if (count > 1) result.push_back(run);
    return result;
}

template <class T> ProblemMatrix<T>::ProblemMatrix(const Gram<T>& gram, const Problem& problem, const LentRows<T>& lent,
                                                   std::size_t budget)
    : gram_(gram), held_(gram.row(0) != nullptr), common_(held_ ? nullptr : lent.common) {
    std::vector<Index> where(static_cast<std::size_t>(gram.size()), -1);
    bool plain = true;
    for (Index p = 0; p < problem.count; ++p) {
        const Index s = problem.sample_of(p);
        if (where[std::size_t(s)] < 0) where[std::size_t(s)] = Index(samples_.size()), samples_.push_back(s);
        plain = plain && where[std::size_t(s)] == p;
    }
    if (!plain) {
        column_.resize(std::size_t(problem.count));
        for (Index p = 0; p < problem.count; ++p) column_[std::size_t(p)] = where[std::size_t(problem.sample_of(p))];
    }
    ranges_ = runs(samples_);
    all_held_ = held_ && plain && size() == gram.size() && ranges_.size() == 1 && ranges_.front().shift == 0;
    if (ranges_.size() > kPieces) {
        own_ = gram.between(samples_, samples_);
        ranges_ = {{0, size(), 0}};
        common_ = nullptr;
    }
    kept_ = lent.kept ? lent.kept : &own_rows_;
    Index capacity = 0;
    if (gram.cost() > costs::kRead) capacity = std::min<Index>(size(), Index(budget / KeptRows<T>::bytes_each(size())));
    if (gram.cost() < costs::kDear && kWorth * capacity < size()) capacity = 0;
    kept_->prepare(size(), capacity, lent.lasting ? 1 : int(std::min(std::ceil(costs::kKeep / gram.cost()), 255.0)));
}

template <class T> void ProblemMatrix<T>::square(const std::vector<Index>& columns, T* out, Index stride) const {
    const Index n = Index(columns.size());
    std::vector<Index> there, missing, samples, where = columns; // where: the places of the entries in such rows
    if (held_)
        for (Index& c : where) c = samples_[std::size_t(c)];
    const bool gather = held_ || gram_.cost() > costs::kGather;
    for (Index r = 0; r < n; ++r)
        if (gather && known(columns[std::size_t(r)])) {
            there.push_back(r);
        } else {
            missing.push_back(r);
            samples.push_back(samples_[std::size_t(columns[std::size_t(r)])]);
        }
    const Index m = Index(missing.size());
    if (m == n) return gram_.between(samples, samples)->fill_symmetric(out, stride);
    // Rows that are kept are far away, a line of memory for every entry: they are read from the diagonal on, and in the
    // columns of those that are not. The rest is the mirror image of that.
    const Index* c = where.data();
    parallel(Index(there.size()), [&](long k) {
        const Index r = there[std::size_t(k)];
        const T* row = known(columns[std::size_t(r)]);
        for (Index j = r; j < n; ++j) out[r * stride + j] = row[c[j]];
        for (Index j : missing) {
            if (j > r) break;
            out[r * stride + j] = row[c[j]];
        }
    });
    constexpr Index kLine = 64 / sizeof(T);
    parallel((n + kLine - 1) / kLine, [&](long t) {
        const Index first = t * kLine, last = std::min(n, first + kLine);
        for (Index j : there) {
            if (j >= last) break;
            for (Index r = std::max(first, j + 1); r < last; ++r) out[r * stride + j] = out[j * stride + r];
        }
    });
    if (m == 0) return;
    std::vector<T> fresh(std::size_t(m * m));
    gram_.between(samples, samples)->fill_symmetric(fresh.data(), m);
    parallel(m, [&](long k) {
        const Index r = missing[std::size_t(k)];
        for (auto j = std::upper_bound(there.begin(), there.end(), r); j != there.end(); ++j)
            out[r * stride + *j] = out[*j * stride + r];
        for (Index j = 0; j < m; ++j) out[r * stride + missing[std::size_t(j)]] = fresh[std::size_t(k * m + j)];
    });
}

template <class T> void ProblemMatrix<T>::whole(T* out, Index stride) {
    if (common_ && common_->whole()) {
        computed_ += common_->complete();
        std::vector<Index> every(static_cast<std::size_t>(size()));
        std::iota(every.begin(), every.end(), Index(0));
        std::vector<T*> to;
        for (Index c : every) to.push_back(out + c * stride);
        return read(every, to);
    }
    computed_ += size();
    if (own_) return own_->fill_symmetric(out, stride);
    const Pairs<T>& pairs = gram_.all();
    for (const Range& r : ranges_) {
        const Index n = r.last - r.first;
        T* diagonal = out + r.first * stride + r.first;
        fill_symmetric(pairs, r.first + r.shift, n, diagonal, stride);
        for (const Range& s : ranges_) {
            if (s.first <= r.first) continue;
            T* block = out + r.first * stride + s.first;
            pairs.fill(nullptr, r.first + r.shift, n, s.first + s.shift, s.last + s.shift, block, stride);
            transpose(n, s.last - s.first, block, stride, out + s.first * stride + r.first, stride);
        }
    }
}

template <class T> void ProblemMatrix<T>::read(const std::vector<Index>& columns, const std::vector<T*>& out) {
    if (held_) {
        for (std::size_t r = 0; r < columns.size(); ++r)
            copy_held(gram_.row(samples_[std::size_t(columns[r])]), out[r]);
        computed_ += Index(columns.size());
        return;
    }
    std::vector<Index> samples = columns;
    if (!own_)
        for (Index& c : samples) c = samples_[std::size_t(c)];
    Index computed = Index(columns.size());
    for (const Range& r : ranges_) {
        std::vector<T*> to = out;
        for (T*& p : to) p += r.first;
        if (common_)
            computed = std::min(computed, common_->read(samples, r.first + r.shift, r.last + r.shift, to));
        else
            read_rows(own_ ? *own_ : gram_.all(), samples, r.first + r.shift, r.last + r.shift, to);
    }
    computed_ += computed;
}

template <class T> void ProblemMatrix<T>::copy_held(const T* row, T* out) const {
    if (own_)
        for (std::size_t c = 0; c < samples_.size(); ++c) out[c] = row[samples_[c]];
    else
        for (const Range& r : ranges_) std::copy(row + r.first + r.shift, row + r.last + r.shift, out + r.first);
}

// The rows are added in the order in which they moved, whether they are kept or computed, and batches begin at
// multiples of how many are added at once: so the sum depends neither on the memory there is nor on the number of
// threads.
template <class T>
void ProblemMatrix<T>::update(const std::vector<Index>& moved, const std::vector<double>& delta, double* f) {
    kept_->begin_round();
    std::vector<Index> missing;
    std::vector<std::uint8_t> there(moved.size());
    for (std::size_t r = 0; r < moved.size(); ++r) {
        there[r] = !(held_ && own_) && known(moved[r]) != nullptr;
        if (there[r] && !held_)
            kept_->use(moved[r]);
        else if (!there[r])
            missing.push_back(moved[r]);
    }
    kept_->claim(missing);
    computed_ += Index(missing.size());
    try {
        add_all(moved, there, Index(missing.size()), delta, f);
    } catch (...) {
        kept_->disclaim();
        throw;
    }
}

template <class T> void ProblemMatrix<T>::add_all(const std::vector<Index>& moved,
                                                  const std::vector<std::uint8_t>& there, Index left,
                                                  const std::vector<double>& delta, double* f) {
    // Pieces of the columns are shared out, some to a thread; each is summed by one.
    const Pairs<T>& pairs = own_ ? *own_ : gram_.all();
    std::vector<Range> pieces;
    const Index grain = pairs.grain(), grains = (size() + grain - 1) / grain;
    const auto width_for = [&](Index threads) { return (grains + kShare * threads - 1) / (kShare * threads) * grain; };
    const Index width = width_for(thread_count());
    for (const Range& range : ranges_)
        for (Index first = range.first; first < range.last;) {
            const Index last = std::min(range.last, ((first + range.shift) / width + 1) * width - range.shift);
            pieces.push_back({first, last, range.shift});
            first = last;
        }
    // A few batches at a time are made ready for all pieces. The rows that are missing are shared out evenly: as many
    // to a batch as are handed out together for the widest pieces there can be, or fewer.
    const Index height = pairs.height(width_for(1)), count = Index(moved.size());
    Index done = 0;
    batches_.resize(kTogether);
    while (done < count) {
        Index batches = 0;
        for (; batches < kTogether && done < count; ++batches) {
            Batch& batch = batches_[std::size_t(batches)];
            const Index many = std::max<Index>(1, (left + height - 1) / height);
            const Index share = std::max<Index>(kAccumulated, (left + many - 1) / many);
            batch.first = done, batch.fresh.clear(), batch.rows.clear();
            while (done < count) {
                const Index next = std::min(count, done + kAccumulated);
                const Index more = std::count(there.begin() + done, there.begin() + next, std::uint8_t(0));
                if (Index(batch.fresh.size()) + more > share) break;
                for (; done < next; ++done) {
                    if (there[std::size_t(done)]) continue;
                    const Index column = moved[std::size_t(done)];
                    batch.fresh.push_back(done - batch.first);
                    batch.rows.push_back(own_ ? column : samples_[std::size_t(column)]);
                }
            }
            batch.count = done - batch.first;
            left -= Index(batch.fresh.size());
        }
        parallel(batches, [&](long b) {
            Batch& batch = batches_[std::size_t(b)];
            pairs.prepare(batch.rows.data(), Index(batch.rows.size()), batch.ready);
        });
        parallel(Index(pieces.size()), [&](long t) {
            for (Index b = 0; b < batches; ++b) {
                poll();
                const Batch& batch = batches_[std::size_t(b)];
                add(pairs, pieces[std::size_t(t)], batch, moved.data() + batch.first, there.data() + batch.first,
                    delta.data() + batch.first, f);
            }
        });
    }
}

// f += K[:, moved] delta for a piece of the columns and one batch of rows; those not yet known are computed and, if
// they have a slot, kept.
template <class T> void ProblemMatrix<T>::add(const Pairs<T>& pairs, const Range& piece, const Batch& batch,
                                              const Index* moved, const std::uint8_t* there, const double* delta,
                                              double* f) {
    const Index count = batch.count;
    const std::vector<Index>&fresh = batch.fresh, &rows = batch.rows;
    std::vector<const T*> at(static_cast<std::size_t>(count));
    auto sum = [&](Index first, Index last, const T* block, Index stride) {
        for (Index r = 0; r < count; ++r)
            if (there[r]) at[std::size_t(r)] = known(moved[r]) + first + (held_ ? piece.shift : 0);
        for (std::size_t k = 0; k < fresh.size(); ++k) at[std::size_t(fresh[k])] = block + Index(k) * stride;
        scans<T>().accumulate(count, last - first, at.data(), delta, f + first);
    };
    if (fresh.empty()) return sum(piece.first, piece.last, nullptr, 0);
    pairs.stream(
        rows.data(), Index(rows.size()), piece.first + piece.shift, piece.last + piece.shift,
        [&](Index, Index many, Index j0, Index j1, const T* block, Index stride) {
            if (many != Index(rows.size())) throw std::logic_error("stream() must hand out height() rows together");
            const Index first = j0 - piece.shift;
            sum(first, j1 - piece.shift, block, stride);
            for (Index k = 0; k < many; ++k) {
                if (T* place = kept_->place(moved[fresh[std::size_t(k)]]))
                    std::copy_n(block + k * stride, j1 - j0, place + first);
            }
        },
        batch.ready.get());
}

template std::vector<Run> common_runs(const Gram<float>&, const std::vector<const Problem*>&, std::size_t);
template std::vector<Run> common_runs(const Gram<double>&, const std::vector<const Problem*>&, std::size_t);
template class ProblemMatrix<float>;
template class ProblemMatrix<double>;

} // namespace mercer
