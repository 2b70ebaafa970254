#include "strings/words.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace mercer {
namespace {

constexpr Index kTask = 64;                 // sequences counted by one task
constexpr Key kMostBits = Key(1) << 28;     // possible keys for which a bit each is kept: 48 MiB
constexpr std::size_t kMostWords = 1 << 30; // distinct words of one sequence

Key mixed(Key h) { // a bijection that spreads every bit over all (the finaliser of SplitMix64)
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
    return h ^ (h >> 31);
}

// Counts the words of one sequence after the other; its memory is reused.
class Counter {
  public:
    Counter(const Sequences& sequences, const WordRule& words)
        : sequences_(sequences), words_(words), exact_(possible_words(sequences.alphabet, words) < kMostExact) {
        Key shorter = 0;
        for (Index k = 0; exact_ && k <= words.longest; ++k) {
            first_.push_back(shorter);
            power_.push_back(k == 0 ? 1 : power_.back() * Key(sequences.alphabet));
            if (k >= words.shortest) shorter += power_.back();
        }
    }

    // The keys of the words of a sequence, which the next call changes.
    const std::vector<Key>& list(Index i) {
        const std::int32_t* letters = sequences_.of(i);
        const Index length = sequences_.length(i);
        found_.clear();
        read(letters, length);
        if (words_.both_strands) {
            other_.resize(std::size_t(length));
            for (Index p = 0; p < length; ++p) {
                const std::int32_t c = letters[length - 1 - p];
                other_[std::size_t(p)] = c < 0 ? c : sequences_.alphabet - 1 - c;
            }
            read(other_.data(), length);
        }
        return found_;
    }

    void count(Index i, WordCounts& out) {
        list(i);
        sort_found();
        const std::size_t begin = out.keys.size();
        for (std::size_t p = 0, q = 0; p < found_.size(); p = q) {
            while (q < found_.size() && found_[q] == found_[p]) ++q;
            out.keys.push_back(found_[p]);
            out.values.push_back(double(q - p));
        }
        if (words_.mismatches > 0) spread(begin, out);
        out.indptr.push_back(Index(out.keys.size()));
    }

  private:
    void read(const std::int32_t* letters, Index length) {
        for (Index k = words_.shortest; k <= words_.longest; ++k) {
            const Key base = Key(sequences_.alphabet);
            Key code = 0;
            Index run = 0; // letters since the last that matches nothing
            for (Index p = 0; p < length; ++p) {
                if (letters[p] < 0) {
                    run = 0, code = 0;
                    continue;
                }
                ++run;
                if (exact_) {
                    if (run > k) code -= Key(letters[p - k]) * power_[std::size_t(k - 1)];
                    code = code * base + Key(letters[p]);
                    if (run >= k) found_.push_back(first_[std::size_t(k)] + code);
                } else if (run >= k) {
                    Key h = mixed(Key(k));
                    for (Index q = p - k + 1; q <= p; ++q) h = mixed(h + Key(letters[q]) + 1);
                    found_.push_back(h);
                }
            }
        }
    }

    // Few bits of the keys at a time where they are few, since that needs no comparisons.
    void sort_found() {
        constexpr int kBits = 9, kMostPasses = 4;
        constexpr std::size_t kFew = 64;
        const int bits = exact_ ? int(std::bit_width(first_.back() + power_.back())) : 64;
        if (bits > kBits * kMostPasses || found_.size() < kFew) return std::sort(found_.begin(), found_.end());
        spare_.resize(found_.size());
        for (int shift = 0; shift < bits; shift += kBits) {
            std::array<std::uint32_t, (1 << kBits) + 1> begin{};
            auto digit = [=](Key key) { return std::size_t(key >> shift) & ((1 << kBits) - 1); };
            for (Key key : found_) ++begin[digit(key) + 1];
            for (std::size_t d = 1; d < begin.size(); ++d) begin[d] += begin[d - 1];
            for (Key key : found_) spare_[begin[digit(key)]++] = key;
            found_.swap(spare_);
        }
    }

    // Replaces the words found, from `begin`, by all that differ from them in at most `mismatches` letters.
    void spread(std::size_t begin, WordCounts& out) {
        near_.clear();
        for (std::size_t p = begin; p < out.keys.size(); ++p) change(out.keys[p], 0, words_.mismatches, out.values[p]);
        if (near_.size() > kMostWords) throw std::length_error("too many words near those of one sequence");
        std::sort(near_.begin(), near_.end());
        out.keys.resize(begin);
        out.values.resize(begin);
        for (const auto& [key, value] : near_)
            if (out.keys.size() > begin && out.keys.back() == key)
                out.values.back() += value;
            else
                out.keys.push_back(key), out.values.push_back(value);
    }

    void change(Key key, Index from, Index left, double value) {
        near_.emplace_back(key, value);
        if (left == 0) return;
        const Key base = Key(sequences_.alphabet);
        for (Index p = from; p < words_.longest; ++p) {
            const Key place = power_[std::size_t(p)], without = key - key / place % base * place;
            for (Key c = 0; c < base; ++c)
                if (without + c * place != key) change(without + c * place, p + 1, left - 1, value);
        }
    }

    const Sequences& sequences_;
    WordRule words_;
    bool exact_;
    std::vector<Key> first_, power_, found_, spare_;
    std::vector<std::pair<Key, double>> near_;
    std::vector<std::int32_t> other_;
};

} // namespace

double possible_words(std::int32_t alphabet, const WordRule& words) {
    double total = 0;
    for (Index k = words.shortest; k <= words.longest; ++k) total += std::pow(double(alphabet), double(k));
    return total;
}

WordCounts count_words(const Sequences& sequences, const WordRule& words) {
    if (words.mismatches > 0 &&
        (words.shortest != words.longest || possible_words(sequences.alphabet, words) >= kMostExact))
        throw std::invalid_argument("words near others need one length, and keys of 64 bits");
    const Index tasks = (sequences.count + kTask - 1) / kTask;
    std::vector<WordCounts> parts(static_cast<std::size_t>(tasks));
    parallel(tasks, [&](long t) {
        Counter counter(sequences, words);
        for (Index i = t * kTask; i < std::min(sequences.count, (t + 1) * kTask); ++i)
            counter.count(i, parts[std::size_t(t)]);
    });
    WordCounts all;
    all.indptr.push_back(0);
    std::vector<std::size_t> begin;
    std::size_t total = 0;
    for (const WordCounts& part : parts) {
        begin.push_back(total);
        for (Index end : part.indptr) all.indptr.push_back(Index(total) + end);
        total += part.keys.size();
    }
    all.keys.resize(total);
    all.values.resize(total);
    parallel(tasks, [&](long t) {
        WordCounts& part = parts[std::size_t(t)];
        std::copy(part.keys.begin(), part.keys.end(), all.keys.begin() + std::ptrdiff_t(begin[std::size_t(t)]));
        std::copy(part.values.begin(), part.values.end(), all.values.begin() + std::ptrdiff_t(begin[std::size_t(t)]));
        part = WordCounts{};
    });
    return all;
}

std::vector<Key> list_words(const Sequences& sequences, const WordRule& words) {
    std::vector<Key> all;
    Counter counter(sequences, words);
    for (Index i = 0; i < sequences.count; ++i) {
        poll();
        const std::vector<Key>& found = counter.list(i);
        all.insert(all.end(), found.begin(), found.end());
    }
    return all;
}

Vocabulary::Vocabulary(const Key* keys, Index count) {
    const Key largest = count ? *std::max_element(keys, keys + count) : 0;
    if (largest < kMostBits) {
        bits_.assign(std::size_t(largest / 64 + 1), 0);
        for (Index p = 0; p < count; ++p) bits_[std::size_t(keys[p] / 64)] |= Key(1) << (keys[p] % 64);
        before_.resize(bits_.size());
        for (std::size_t w = 0; w < bits_.size(); ++w) {
            before_[w] = std::uint32_t(size_);
            size_ += std::popcount(bits_[w]);
        }
        return;
    }
    std::vector<Key> sorted(keys, keys + count);
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    size_ = Index(sorted.size());
    if (size_ > Index(0x7fffffff)) throw std::length_error("more than 2**31 - 1 distinct words");
    const std::size_t slots = std::bit_ceil(2 * sorted.size());
    slots_.resize(slots);
    number_.assign(slots, -1);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        std::size_t at = mixed(sorted[i]) & (slots - 1);
        while (number_[at] >= 0) at = (at + 1) & (slots - 1);
        slots_[at] = sorted[i];
        number_[at] = std::int32_t(i);
    }
}

std::int32_t Vocabulary::find(Key key) const {
    if (!bits_.empty()) {
        if (key / 64 >= bits_.size()) return -1;
        const std::uint64_t word = bits_[std::size_t(key / 64)], bit = std::uint64_t(1) << (key % 64);
        return word & bit ? std::int32_t(before_[std::size_t(key / 64)] + unsigned(std::popcount(word & (bit - 1))))
                          : -1;
    }
    std::size_t at = mixed(key) & (slots_.size() - 1);
    while (number_[at] >= 0 && slots_[at] != key) at = (at + 1) & (slots_.size() - 1);
    return number_[at];
}

void Vocabulary::find(const Key* keys, Index count, std::int32_t* out) const {
    constexpr Index kPart = 1 << 16;
    parallel((count + kPart - 1) / kPart, [&](long t) {
        for (Index p = t * kPart; p < std::min(count, (t + 1) * kPart); ++p) out[p] = find(keys[p]);
    });
}

} // namespace mercer
