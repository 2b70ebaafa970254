#include "strings/differences.hpp"

#include "strings/gaps.hpp"
#include "strings/tree.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <stdexcept>

namespace mercer {
namespace {

int bits_per_letter(std::int32_t alphabet) { return std::max(1, int(std::bit_width(unsigned(alphabet - 1)))); }

// Word by word.
void differences_diagonal(const Bags& x, const Bags& z, const std::vector<double>& weights, double* out) {
    const int bits = bits_per_letter(x.alphabet);
    // Two packed words differ where a letter's bits do: all bits of a letter are folded onto its lowest.
    Key lowest = 0;
    for (Index p = 0; p < x.length; ++p) lowest |= Key(1) << (p * bits);
    auto packed = [&](const Bags& b, Index i) {
        std::vector<Key> words;
        for (Index p = b.indptr[i]; p < b.indptr[i + 1]; ++p) {
            Key key = b.keys[p], word = 0;
            for (Index q = 0; q < b.length; ++q, key /= Key(b.alphabet)) word |= key % Key(b.alphabet) << (q * bits);
            words.push_back(word);
        }
        return words;
    };
    std::vector<double> weight(std::size_t(x.length) + 1, 0.0);
    std::copy(weights.begin(), weights.end(), weight.begin());
    parallel(x.count, [&](long i) {
        const std::vector<Key> u = packed(x, i), v = packed(z, i);
        double sum = 0;
        for (std::size_t a = 0; a < u.size(); ++a) {
            double part = 0;
            for (std::size_t b = 0; b < v.size(); ++b) {
                Key d = u[a] ^ v[b];
                for (int s = 1; s < bits; ++s) d |= (u[a] ^ v[b]) >> s;
                part += weight[std::size_t(std::popcount(d & lowest))] * z.values[z.indptr[i] + Index(b)];
            }
            sum += part * x.values[x.indptr[i] + Index(a)];
            poll();
        }
        out[i] = sum;
    });
}

template <class T> class DifferencePairs final : public ObjectPairs<T> {
  public:
    DifferencePairs(const Bags& x, const Bags& z, const std::vector<double>& weights)
        : ObjectPairs<T>(x.count, z.count), x_(x), z_(z), weights_(weights), gaps_(bind_gaps<T>(x, z, weights)) {}

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        const double gaps = gaps_time(x_, z_, weights_, rows, last_column - first_column);
        const bool with_gaps = gaps_ && gaps < tree_time(x_, z_, weights_, rows);
        (with_gaps ? *gaps_ : tree()).fill(index, first_row, rows, first_column, last_column, out, stride);
    }

    void fill_symmetric(T* out, Index stride) const override {
        const Index n = z_.count;
        const bool with_gaps = gaps_ && 0.5 * gaps_time(x_, z_, weights_, n, n) < tree_time(x_, z_, weights_, n);
        (with_gaps ? *gaps_ : tree()).fill_symmetric(out, stride);
    }

  private:
    void fill_diagonal(double* out) const override { differences_diagonal(x_, z_, weights_, out); }
    const Pairs<T>& tree() const {
        std::call_once(planted_, [&] { tree_ = bind_tree<T>(x_, z_, weights_); });
        return *tree_;
    }

    Bags x_, z_;
    std::vector<double> weights_;
    std::unique_ptr<Pairs<T>> gaps_;         // null where its sums would not be exact
    mutable std::unique_ptr<Pairs<T>> tree_; // planted when first wanted
    mutable std::once_flag planted_;
};

void check(const Bags& x, const Bags& z, const std::vector<double>& weights) {
    if (x.alphabet != z.alphabet || x.length != z.length || !fits_differences(x.alphabet, x.length) ||
        weights.empty() || Index(weights.size()) > x.length + 1)
        throw std::invalid_argument("words of one length and alphabet are wanted, and a weight per difference");
}

} // namespace

bool fits_differences(std::int32_t alphabet, Index length) {
    return alphabet >= 1 && alphabet <= 256 && length >= 1 && length * bits_per_letter(alphabet) <= 63;
}

template <class T>
std::unique_ptr<ObjectPairs<T>> bind_differences(const Bags& x, const Bags& z, const std::vector<double>& weights) {
    check(x, z, weights);
    return std::make_unique<DifferencePairs<T>>(x, z, weights);
}

template std::unique_ptr<ObjectPairs<float>> bind_differences(const Bags&, const Bags&, const std::vector<double>&);
template std::unique_ptr<ObjectPairs<double>> bind_differences(const Bags&, const Bags&, const std::vector<double>&);

} // namespace mercer
