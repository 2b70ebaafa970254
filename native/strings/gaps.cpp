#include "strings/gaps.hpp"

#include "costs.hpp"

#include "strings/masked_counts.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace mercer {
namespace {

constexpr Index kSide = kTallyRows;   // rows, and columns, of a task
constexpr Index kFewest = 64;         // fewer are not worth a table
constexpr std::int32_t kMost = 65535; // occurrences that an entry of the table holds

double choose(Index n, Index k) {
    double value = 1;
    for (Index i = 1; i <= k; ++i) value = value * double(n - k + i) / double(i);
    return std::round(value);
}

double most_words(const Bags& b) { // of one sequence, repeated ones included
    double most = 0;
    for (Index i = 0; i < b.count; ++i) {
        double sum = 0;
        for (Index p = b.indptr[i]; p < b.indptr[i + 1]; ++p) sum += b.values[p];
        most = std::max(most, sum);
    }
    return most;
}

// No sum, complete or not, is larger.
double largest(const Bags& x, const Bags& z, const std::vector<double>& share) {
    double total = 0;
    for (Index j = 0; j <= x.length; ++j) total += std::abs(share[std::size_t(j)]) * choose(x.length, j);
    return total * most_words(x) * most_words(z);
}

// The words of some sequences. key[j] is that of the letters at the first j places of the set that is visited.
template <class K> struct SequenceWords {
    std::vector<std::size_t> first; // of each sequence
    std::vector<std::uint16_t> owner;
    std::vector<std::int32_t> count;
    std::vector<std::vector<std::uint8_t>> letter; // [place][word]
    std::vector<std::vector<K>> key;

    void load(const Bags& b, const Index* index, Index begin, Index rows) {
        first.assign(1, 0);
        owner.clear(), count.clear();
        letter.resize(std::size_t(b.length)), key.resize(std::size_t(b.length) + 1);
        for (auto& letters : letter) letters.clear();
        for (Index r = 0; r < rows; ++r) {
            const Index i = index ? index[r] : begin + r;
            for (Index p = b.indptr[i]; p < b.indptr[i + 1]; ++p)
                for (double left = b.values[p]; left > 0; left -= kMost) {
                    owner.push_back(std::uint16_t(r));
                    count.push_back(std::int32_t(std::min(left, double(kMost))));
                    Key word = b.keys[p];
                    for (Index q = b.length; q-- > 0; word /= Key(b.alphabet))
                        letter[std::size_t(q)].push_back(std::uint8_t(word % Key(b.alphabet)));
                }
            first.push_back(owner.size());
        }
        for (auto& keys : key) keys.resize(owner.size());
        std::fill(key[0].begin(), key[0].end(), K(0));
    }

    void extend(Index chosen, Index place, K base) {
        const K* from = key[std::size_t(chosen)].data();
        const std::uint8_t* letters = letter[std::size_t(place)].data();
        K* to = key[std::size_t(chosen) + 1].data();
        for (std::size_t w = 0; w < owner.size(); ++w) to[w] = K(from[w] * base + letters[w]);
    }
};

// Whether the words of some rows are many for the number of cells in a table: then they are counted by single bits.
bool worth_masks(double words, double cells) {
    constexpr double kFewestPerCell = 4, kMostCells = 1 << 14; // beyond, masks leave the caches
    return words >= kFewestPerCell * cells && cells <= kMostCells;
}

// The sums of a block of rows and columns, one after the other; its memory is reused.
template <class K, class Sum> class SharedWords {
  public:
    SequenceWords<K> rows, columns;
    std::vector<Sum> sums; // [column][row]

    // `most` words of a row times words of a column.
    void add(const std::vector<double>& share, Index length, std::int32_t alphabet, double most) {
        length_ = length, base_ = K(alphabet);
        height_ = rows.first.size() - 1;
        const std::size_t width = columns.first.size() - 1;
        sums.assign(height_ * width, 0);
        for (wanted_ = 0; wanted_ <= length; ++wanted_) {
            share_ = Sum(share[std::size_t(wanted_)]);
            if (share_ == 0) continue;
            possible_ = std::pow(double(base_), double(wanted_));
            by_masks_ = worth_masks(double(rows.owner.size()), possible_);
            if (by_masks_) masked_.start(width, most * choose(length, wanted_));
            visit(0, 0);
            for (std::size_t j = 0; by_masks_ && j < width; ++j) masked_.add_sums(j, share_, sums.data() + j * height_);
        }
    }

  private:
    struct RowCount {
        std::uint16_t row, count;
    };

    // All sets of the wanted number of places that begin with those chosen and go on from `place`.
    void visit(Index chosen, Index place) {
        if (chosen == wanted_) return count();
        for (; chosen + (length_ - place) >= wanted_; ++place) {
            rows.extend(chosen, place, base_);
            columns.extend(chosen, place, base_);
            visit(chosen + 1, place + 1);
        }
    }

    // Adds what rows and columns have in common at the places that are chosen.
    void count() {
        const std::size_t words = std::max<std::size_t>(rows.owner.size(), 1024);
        if (by_masks_)
            count_by_masks();
        else if (possible_ <= 4.0 * double(words))
            count_by_table<false>(std::size_t(possible_));
        else
            count_by_table<true>(std::bit_ceil(words));
    }

    void count_by_masks() {
        masked_.set_rows(rows.key[std::size_t(wanted_)].data(), rows.owner.data(), rows.count.data(), rows.owner.size(),
                         std::size_t(possible_));
        PollCounter steps;
        for (std::size_t j = 0; j + 1 < columns.first.size(); ++j) {
            const std::size_t w = columns.first[j];
            steps.add(columns.first[j + 1] - w);
            masked_.add_column(j, columns.key[std::size_t(wanted_)].data() + w, columns.count.data() + w,
                               columns.first[j + 1] - w);
        }
    }

    // A table of the rows' words, each at its key or at a hash of it; then every word of the columns finds its equals.
    template <bool kHashed> void count_by_table(std::size_t cells) {
        const int shift = 64 - int(std::bit_width(cells - 1));
        auto cell = [&](K key) {
            if constexpr (kHashed) return std::size_t((Key(key) * 0x9e3779b97f4a7c15ull) >> shift);
            return std::size_t(key);
        };
        const std::vector<K>&own = rows.key[std::size_t(wanted_)], &asked = columns.key[std::size_t(wanted_)];
        begin_.assign(cells + 1, 0);
        for (K key : own) ++begin_[cell(key) + 1];
        for (std::size_t c = 0; c < cells; ++c) begin_[c + 1] += begin_[c];
        end_.assign(begin_.begin(), begin_.end() - 1);
        entry_.resize(own.size());
        if (kHashed) key_.resize(own.size());
        for (std::size_t w = 0; w < own.size(); ++w) {
            const std::size_t c = cell(own[w]);
            std::uint32_t& end = end_[c];
            const bool again = end > begin_[c] && entry_[end - 1].row == rows.owner[w] &&
                               entry_[end - 1].count + rows.count[w] <= kMost && (!kHashed || key_[end - 1] == own[w]);
            if (again) {
                entry_[end - 1].count = std::uint16_t(entry_[end - 1].count + rows.count[w]);
                continue;
            }
            if (kHashed) key_[end] = own[w];
            entry_[end++] = {rows.owner[w], std::uint16_t(rows.count[w])};
        }
        PollCounter steps;
        for (std::size_t j = 0; j + 1 < columns.first.size(); ++j) {
            steps.add(16 * (columns.first[j + 1] - columns.first[j])); // each meets some of the rows
            Sum* sums = this->sums.data() + j * height_;
            for (std::size_t w = columns.first[j]; w < columns.first[j + 1]; ++w) {
                const K key = asked[w];
                const std::size_t c = cell(key);
                const Sum times = share_ * Sum(columns.count[w]);
                const std::uint32_t from = begin_[c], to = end_[c];
                for (std::uint32_t p = from; p < to; ++p)
                    if (!kHashed || key_[p] == key) sums[entry_[p].row] += times * Sum(entry_[p].count);
            }
        }
    }

    Index length_ = 0, wanted_ = 0; // places of a word, and of a set
    Sum share_ = 0;
    double possible_ = 0; // keys
    bool by_masks_ = false;
    MaskedCounts masked_;
    K base_ = 0;
    std::size_t height_ = 0;
    std::vector<std::uint32_t> begin_, end_; // of the entries of each cell
    std::vector<RowCount> entry_;
    std::vector<K> key_;
};

template <class T, class K, class Sum> class GapPairs final : public Pairs<T> {
  public:
    GapPairs(const Bags& x, const Bags& z, std::vector<double> share)
        : x_(x), z_(z), share_(std::move(share)), most_(most_words(x) * most_words(z)) {}

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        if (rows <= 0 || last_column <= first_column) return;
        const Index columns = last_column - first_column, side = side_of(double(rows) * double(columns));
        const Index across = (columns + side - 1) / side, down = (rows + side - 1) / side;
        parallel(across * down, [&](long t) {
            const Index r0 = t / across * side, j0 = t % across * side;
            const Index height = std::min(side, rows - r0), width = std::min(side, columns - j0);
            const auto& sums = block(index ? index + r0 : nullptr, first_row + r0, height, first_column + j0, width);
            for (Index r = 0; r < height; ++r)
                for (Index j = 0; j < width; ++j)
                    out[(r0 + r) * stride + j0 + j] = T(sums[std::size_t(j * height + r)]);
        });
    }

    void fill_symmetric(T* out, Index stride) const override {
        const Index n = z_.count, side = side_of(0.5 * double(n) * double(n));
        std::vector<std::pair<Index, Index>> tasks;
        for (Index r0 = 0; r0 < n; r0 += side)
            for (Index j0 = r0; j0 < n; j0 += side) tasks.emplace_back(r0, j0);
        parallel(long(tasks.size()), [&](long t) {
            const auto [r0, j0] = tasks[std::size_t(t)];
            const Index height = std::min(side, n - r0), width = std::min(side, n - j0);
            const auto& sums = block(nullptr, r0, height, j0, width);
            for (Index j = 0; j < width; ++j)
                for (Index r = 0; r < height; ++r)
                    out[(j0 + j) * stride + r0 + r] = T(sums[std::size_t(j * height + r)]);
            for (Index r = 0; j0 > r0 && r < height; ++r)
                for (Index j = 0; j < width; ++j)
                    out[(r0 + r) * stride + j0 + j] = T(sums[std::size_t(j * height + r)]);
        });
    }

  private:
    // Enough tasks for all threads.
    static Index side_of(double pairs) {
        return std::clamp(Index(std::sqrt(pairs / (4.0 * thread_count()))), kFewest, kSide);
    }

    const std::vector<Sum>& block(const Index* index, Index first_row, Index rows, Index first_column,
                                  Index columns) const {
        static thread_local SharedWords<K, Sum> memory;
        memory.rows.load(x_, index, first_row, rows);
        memory.columns.load(z_, nullptr, first_column, columns);
        memory.add(share_, x_.length, x_.alphabet, most_);
        return memory.sums;
    }

    Bags x_, z_;
    std::vector<double> share_;
    double most_;
};

} // namespace

std::vector<double> shares(const std::vector<double>& weights, Index length) {
    std::vector<double> share(std::size_t(length) + 1, 0.0);
    for (Index j = 0; j <= length; ++j)
        for (Index i = 0; i <= j; ++i) { // i places agree
            const auto differing = std::size_t(length - i);
            if (differing < weights.size())
                share[std::size_t(j)] += ((j - i) % 2 ? -1.0 : 1.0) * choose(j, i) * weights[differing];
        }
    return share;
}

double gaps_time(const Bags& x, const Bags& z, const std::vector<double>& weights, Index rows, Index columns) {
    const std::vector<double> share = shares(weights, x.length);
    const double of_row = double(x.indptr[x.count]) / double(std::max<Index>(x.count, 1)), of_x = of_row * double(rows);
    const double of_block = of_row * double(std::min(rows, kSide));
    double sets = 0, met = 0, looked_up = 0;
    for (Index j = 0; j <= x.length; ++j) {
        if (share[std::size_t(j)] == 0) continue;
        const double possible = std::pow(double(x.alphabet), double(j));
        sets += choose(x.length, j);
        if (worth_masks(of_block, possible))
            looked_up += choose(x.length, j);
        else
            met += choose(x.length, j) / possible;
    }
    const double of_z = double(z.indptr[z.count]) / double(std::max<Index>(z.count, 1)) * double(columns);
    const double down = std::ceil(double(rows) / double(kSide)), across = std::ceil(double(columns) / double(kSide));
    return costs::kWordPrepared * sets * (of_x * across + of_z * down) + costs::kWordLookUp * looked_up * of_z * down +
           costs::kWordMet * met * of_x * of_z;
}

template <class T>
std::unique_ptr<Pairs<T>> bind_gaps(const Bags& x, const Bags& z, const std::vector<double>& weights) {
    const std::vector<double> share = shares(weights, x.length);
    constexpr double kExact = 4.5e15;
    const double most = largest(x, z, share);
    if (!(most < kExact)) return nullptr;
    const bool narrow = std::pow(double(x.alphabet), double(x.length)) < 4e9, small = most < 2e9;
    using Short = std::uint32_t;
    if (narrow && small) return std::make_unique<GapPairs<T, Short, std::int32_t>>(x, z, share);
    if (narrow) return std::make_unique<GapPairs<T, Short, std::int64_t>>(x, z, share);
    return std::make_unique<GapPairs<T, Key, std::int64_t>>(x, z, share);
}

template std::unique_ptr<Pairs<float>> bind_gaps(const Bags&, const Bags&, const std::vector<double>&);
template std::unique_ptr<Pairs<double>> bind_gaps(const Bags&, const Bags&, const std::vector<double>&);

} // namespace mercer
