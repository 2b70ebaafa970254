#include "solvers/rows.hpp"

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

// Nanoseconds to read an entry that is kept.
constexpr double kRead = 0.5;
// Rows that are not dear are not kept at all if fewer than one in so many fits: they would be gone when they
// are wanted again.
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

template <class T> void some_rows(const Pairs<T>& pairs, const std::vector<Index>& rows, Index first, Index last,
                                  const std::vector<T*>& out) {
    if (rows.empty()) return;
    pairs.stream(rows.data(), Index(rows.size()), first, last,
                 [&](Index r, Index count, Index j0, Index j1, const T* block, Index stride) {
                     for (Index i = 0; i < count; ++i)
                         std::copy_n(block + i * stride, j1 - j0, out[std::size_t(r + i)] + (j0 - first));
                 });
}

// The matrix among `count` consecutive samples: strips right of the diagonal, and their mirror images.
template <class T> void fill_symmetric(const Pairs<T>& pairs, Index first, Index count, T* out, Index stride) {
    constexpr Index kHeight = 96;
    parallel((count + kHeight - 1) / kHeight, [&](long t) {
        const Index i0 = t * kHeight, i1 = std::min(count, i0 + kHeight);
        T* strip = out + i0 * stride;
        pairs.fill(nullptr, first + i0, i1 - i0, first + i0, first + count, strip + i0, stride);
        transpose(i1 - i0, count - i1, strip + i1, out + i1 * stride + i0, stride);
    });
}

} // namespace

template <class T>
Squares<T>::Squares(const Gram<T>& gram, const std::vector<const Problem*>& problems, std::size_t budget)
    : gram_(gram) {
    if (problems.empty()) return; // nothing of the matrix is wanted
    std::map<std::pair<Index, Index>, int> uses;
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
    const bool whole = !gram.all().narrow() && read >= 2 * gram.size() && all * all * sizeof(T) <= budget;
    if (whole) uses = {{{0, gram.size()}, 2}};
    for (const auto& [run, count] : uses) {
        const auto length = std::size_t(run.second - run.first);
        const std::size_t bytes = length * length * sizeof(T);
        if (count < 2 || bytes_ + bytes > budget) continue;
        squares_.push_back(
            {run.first, run.second, bytes_ / sizeof(T), std::make_unique<std::atomic<std::uint8_t>[]>(length)});
        bytes_ += bytes;
    }
    if (bytes_ > 0) memory_.reserve(bytes_);
    // Single rows of such a matrix cost four times their share of the whole, and most of them would be asked for.
    if (whole) {
        gram.all().fill_symmetric(kept(squares_.front(), 0), gram.size());
        for (std::size_t r = 0; r < all; ++r) squares_.front().state[r] = ready;
    }
}

template <class T>
void Squares<T>::read(const std::vector<Index>& samples, Index first, Index last, const std::vector<T*>& out) const {
    const auto square = std::find_if(squares_.begin(), squares_.end(),
                                     [&](const Square& s) { return s.first <= first && last <= s.last; });
    // Rows that are missing are computed and kept; those that another thread is at are computed for here alone.
    std::vector<Index> mine, others;
    std::vector<T*> to_keep, to;
    std::vector<std::uint8_t> copied(samples.size(), 0);
    for (std::size_t r = 0; r < samples.size(); ++r) {
        std::uint8_t seen = busy;
        if (square != squares_.end() && samples[r] >= square->first && samples[r] < square->last) {
            seen = missing;
            if (square->state[std::size_t(samples[r] - square->first)].compare_exchange_strong(seen, busy)) {
                mine.push_back(samples[r]);
                to_keep.push_back(kept(*square, samples[r]));
                seen = ready; // before it is read
            }
        }
        copied[r] = seen == ready;
        if (copied[r]) continue;
        others.push_back(samples[r]);
        to.push_back(out[r]);
    }
    some_rows(gram_.all(), others, first, last, to);
    if (square == squares_.end()) return;
    some_rows(gram_.all(), mine, square->first, square->last, to_keep);
    for (Index s : mine) square->state[std::size_t(s - square->first)] = ready;
    for (std::size_t r = 0; r < samples.size(); ++r)
        if (copied[r]) std::copy_n(kept(*square, samples[r]) + (first - square->first), last - first, out[r]);
}

template <class T>
Rows<T>::Rows(const Gram<T>& gram, const Problem& problem, const Squares<T>* squares, std::size_t budget)
    : gram_(gram), squares_(squares) {
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
    if (ranges_.size() > kPieces) {
        own_ = gram.between(samples_, samples_);
        ranges_ = {{0, size(), 0}};
        squares_ = nullptr;
    }
    stride_ = (size() + kScanUnit - 1) / kScanUnit * kScanUnit;
    if (gram.cost() > kRead)
        capacity_ = std::min<Index>(size(), Index(budget / (std::size_t(stride_) * sizeof(T) + 2 * sizeof(Index))));
    if (gram.cost() < kDear && kWorth * capacity_ < size()) capacity_ = 0;
    uses_ = int(std::min(std::ceil(kKeep / gram.cost()), 255.0));
    slots_.assign(std::size_t(size()), -1);
    seen_.assign(std::size_t(size()), 0);
}

template <class T> void Rows<T>::square(const std::vector<Index>& columns, T* out, Index stride) const {
    const Index n = Index(columns.size());
    std::vector<Index> known, missing, samples;
    const bool gather = gram_.cost() > kGather;
    for (Index r = 0; r < n; ++r)
        if (gather && kept(columns[std::size_t(r)])) {
            known.push_back(r);
        } else {
            missing.push_back(r);
            samples.push_back(samples_[std::size_t(columns[std::size_t(r)])]);
        }
    const Index m = Index(missing.size());
    if (m == n) return gram_.between(samples, samples)->fill_symmetric(out, stride);
    // Rows that are kept are far away, a line of memory for every entry: they are read from the diagonal on, and in the
    // columns of those that are not. The rest is the mirror image of that.
    const Index* c = columns.data();
    parallel(Index(known.size()), [&](long k) {
        const Index r = known[std::size_t(k)];
        const T* row = kept(c[r]);
        for (Index j = r; j < n; ++j) out[r * stride + j] = row[c[j]];
        for (Index j : missing) {
            if (j > r) break;
            out[r * stride + j] = row[c[j]];
        }
    });
    constexpr Index kLine = 64 / sizeof(T);
    parallel((n + kLine - 1) / kLine, [&](long t) {
        const Index first = t * kLine, last = std::min(n, first + kLine);
        for (Index j : known) {
            if (j >= last) break;
            for (Index r = std::max(first, j + 1); r < last; ++r) out[r * stride + j] = out[j * stride + r];
        }
    });
    if (m == 0) return;
    std::vector<T> fresh(std::size_t(m * m));
    gram_.between(samples, samples)->fill_symmetric(fresh.data(), m);
    parallel(m, [&](long k) {
        const Index r = missing[std::size_t(k)];
        for (auto j = std::upper_bound(known.begin(), known.end(), r); j != known.end(); ++j)
            out[r * stride + *j] = out[*j * stride + r];
        for (Index j = 0; j < m; ++j) out[r * stride + missing[std::size_t(j)]] = fresh[std::size_t(k * m + j)];
    });
}

template <class T> void Rows<T>::whole(T* out, Index stride) const {
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
            transpose(n, s.last - s.first, block, out + s.first * stride + r.first, stride);
        }
    }
}

template <class T> void Rows<T>::read(const std::vector<Index>& columns, const std::vector<T*>& out) const {
    std::vector<Index> samples = columns;
    if (!own_)
        for (Index& c : samples) c = samples_[std::size_t(c)];
    for (const Range& r : ranges_) {
        std::vector<T*> to = out;
        for (T*& p : to) p += r.first;
        if (squares_)
            squares_->read(samples, r.first + r.shift, r.last + r.shift, to);
        else
            some_rows(own_ ? *own_ : gram_.all(), samples, r.first + r.shift, r.last + r.shift, to);
    }
}

// Gives every missing row that is worth it a slot that is free or was not used in this round, while there are any.
template <class T> void Rows<T>::claim(const std::vector<Index>& missing) {
    if (capacity_ == 0) return;
    std::vector<Index> worth;
    for (Index c : missing) {
        std::uint8_t& seen = seen_[std::size_t(c)];
        if (seen >= uses_ || ++seen >= uses_) worth.push_back(c);
    }
    if (worth.empty()) return;
    if (!memory()) memory_.reserve(std::size_t(capacity_ * stride_) * sizeof(T));
    std::vector<Index> old; // slots, the least recently used last
    std::size_t wanted = worth.size();
    wanted -= std::min(wanted, std::size_t(capacity_) - owners_.size());
    if (wanted > 0) {
        for (Index s = 0; s < Index(owners_.size()); ++s)
            if (used_[std::size_t(s)] < round_) old.push_back(s);
        std::sort(old.begin(), old.end(), [&](Index a, Index b) {
            return used_[std::size_t(a)] != used_[std::size_t(b)] ? used_[std::size_t(a)] > used_[std::size_t(b)]
                                                                  : a > b;
        });
    }
    for (Index c : worth) {
        Index slot = Index(owners_.size());
        if (slot < capacity_) {
            owners_.push_back(c);
            used_.push_back(round_);
        } else if (!old.empty()) {
            slot = old.back();
            old.pop_back();
            slots_[std::size_t(owners_[std::size_t(slot)])] = -1;
            owners_[std::size_t(slot)] = c;
            used_[std::size_t(slot)] = round_;
        } else {
            return;
        }
        slots_[std::size_t(c)] = slot;
    }
}

// The rows are added in the order in which they moved, whether they are kept or computed, and batches begin at
// multiples of how many are added at once: so the sum depends neither on the memory there is nor on the number of
// threads.
template <class T> void Rows<T>::update(const std::vector<Index>& moved, const std::vector<double>& delta, double* f) {
    ++round_;
    std::vector<Index> missing;
    std::vector<std::uint8_t> known(moved.size());
    for (std::size_t r = 0; r < moved.size(); ++r) {
        known[r] = kept(moved[r]) != nullptr;
        if (known[r])
            used_[std::size_t(slots_[std::size_t(moved[r])])] = round_;
        else
            missing.push_back(moved[r]);
    }
    claim(missing);
    computed_ += Index(missing.size());

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
    Index done = 0, left = Index(missing.size());
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
                const Index more = std::count(known.begin() + done, known.begin() + next, std::uint8_t(0));
                if (Index(batch.fresh.size()) + more > share) break;
                for (; done < next; ++done) {
                    if (known[std::size_t(done)]) continue;
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
                add(pairs, pieces[std::size_t(t)], batch, moved.data() + batch.first, known.data() + batch.first,
                    delta.data() + batch.first, f);
            }
        });
    }
}

// f += K[:, moved] delta for a piece of the columns and one batch of rows; those not yet known are computed and, if
// they have a slot, kept.
template <class T> void Rows<T>::add(const Pairs<T>& pairs, const Range& piece, const Batch& batch, const Index* moved,
                                     const std::uint8_t* known, const double* delta, double* f) {
    const Index count = batch.count;
    const std::vector<Index>&fresh = batch.fresh, &rows = batch.rows;
    std::vector<const T*> at(static_cast<std::size_t>(count));
    auto sum = [&](Index first, Index last, const T* block, Index stride) {
        for (Index r = 0; r < count; ++r)
            if (known[r]) at[std::size_t(r)] = kept(moved[r]) + first;
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
                const Index slot = slots_[std::size_t(moved[fresh[std::size_t(k)]])];
                if (slot >= 0) std::copy_n(block + k * stride, j1 - j0, memory() + slot * stride_ + first);
            }
        },
        batch.ready.get());
}

template class Squares<float>;
template class Squares<double>;
template class Rows<float>;
template class Rows<double>;

} // namespace mercer
