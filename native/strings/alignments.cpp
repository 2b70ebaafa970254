#include "strings/alignments.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace mercer {
namespace {

struct Text {
    const std::int32_t* letters;
    Index length;
    std::int32_t operator[](Index i) const { return letters[i]; }
};

Text text(const Sequences& s, Index i) { return {s.of(i), s.length(i)}; }

// The dynamic programmes treat their two sequences differently, so they take them in one order, whichever was first:
// then k(x, z) == k(z, x) to the last bit.
bool in_order(const Text& a, const Text& b) {
    if (a.length != b.length) return a.length < b.length;
    return !std::lexicographical_compare(b.letters, b.letters + b.length, a.letters, a.letters + a.length);
}

template <class Rule> class Evaluator;

template <> class Evaluator<WeightedDegree> {
  public:
    Evaluator(const WeightedDegree& rule, std::int32_t) : shift_(rule.shift) {
        upto_.push_back(0.0);
        for (double w : rule.weight) upto_.push_back(upto_.back() + w);
    }
    double operator()(const Text& x, const Text& z) {
        double sum = moved(x, z, 0);
        PollCounter steps;
        for (Index s = 1; s <= shift_; ++s) {
            sum += (moved(x, z, s) + moved(z, x, s)) / (2.0 * double(s + 1));
            steps.add(std::size_t(x.length + z.length));
        }
        return sum;
    }

  private:
    // The words that a, moved by s places, and b have in common: a run of r equal letters ends r words, of 1 .. r
    // letters.
    double moved(const Text& a, const Text& b, Index s) const {
        const Index end = std::min(a.length - s, b.length), degree = Index(upto_.size()) - 1;
        double sum = 0;
        Index run = 0;
        for (Index i = 0; i < end; ++i) {
            run = a[i + s] == b[i] && b[i] >= 0 ? std::min(run + 1, degree) : 0;
            sum += upto_[std::size_t(run)];
        }
        return sum;
    }
    std::vector<double> upto_;
    Index shift_;
};

template <> class Evaluator<Subsequence> {
  public:
    Evaluator(const Subsequence& rule, std::int32_t) : n_(rule.length), decay_(rule.decay) {}
    // ending_[p][j]: the sum over subsequences of p + 1 letters within the letters of s read so far and the first j of
    // t, each weighted by decay^(letters from its beginning to the ends of both).
    double operator()(const Text& x, const Text& z) {
        const bool straight = in_order(x, z);
        const Text &s = straight ? x : z, &t = straight ? z : x;
        if (s.length < n_) return 0.0;
        const std::size_t width = std::size_t(t.length) + 1;
        ending_.assign(std::size_t(n_) * width, 0.0);
        const double square = decay_ * decay_;
        double sum = 0;
        PollCounter steps;
        for (Index i = 0; i < s.length; ++i) {
            steps.add(ending_.size());
            const std::int32_t letter = s[i];
            for (Index p = n_ - 1; p >= 0; --p) {
                double* now = ending_.data() + std::size_t(p) * width;
                const double* shorter = p ? now - width : nullptr;
                double run = 0;
                for (Index j = 0; j < t.length; ++j) {
                    const double match = letter >= 0 && t[j] == letter ? square * (shorter ? shorter[j] : 1.0) : 0.0;
                    if (p == n_ - 1) {
                        sum += match;
                    } else {
                        run = decay_ * run + match;
                        now[j + 1] = decay_ * now[j + 1] + run;
                    }
                }
            }
        }
        return sum;
    }

  private:
    Index n_;
    double decay_;
    std::vector<double> ending_;
};

template <> class Evaluator<LocalAlignment> {
  public:
    Evaluator(const LocalAlignment& rule, std::int32_t alphabet)
        : beta_(rule.beta), open_(std::exp(-rule.beta * rule.open)), extend_(std::exp(-rule.beta * rule.extend)),
          side_(std::size_t(alphabet) + 1) {
        if (rule.score.size() != side_ * side_) throw std::invalid_argument("a score per pair of letters is needed");
        for (double s : rule.score) factor_.push_back(std::exp(rule.beta * s));
    }
    // Numbers grow like exp(beta score), so they are kept divided by exp(scale), which is raised row by row.
    double operator()(const Text& x, const Text& z) {
        const bool straight = in_order(x, z);
        const Text &s = straight ? x : z, &t = straight ? z : x;
        const std::size_t width = std::size_t(t.length) + 1;
        match_.assign(width, 0.0), down_.assign(width, 0.0), right_.assign(width, 0.0);
        double one = 1, total = 0, scale = 0;
        PollCounter steps;
        for (Index i = 0; i < s.length; ++i) {
            steps.add(width);
            const double* factor = factor_.data() + place(s[i]) * side_;
            // Of the row above: ended in a match, in letters of s that are skipped, in letters of t.
            double m = 0, d = 0, r = 0, row = 0;
            for (std::size_t j = 1; j < width; ++j) {
                const double above_m = match_[j], above_d = down_[j], above_r = right_[j];
                const double begun = one + m + d + r;
                match_[j] = factor[place(t[Index(j) - 1])] * begun;
                down_[j] = open_ * above_m + extend_ * above_d;
                right_[j] = open_ * (match_[j - 1] + down_[j - 1]) + extend_ * right_[j - 1];
                m = above_m, d = above_d, r = above_r;
                row += match_[j];
            }
            total += row;
            if (total > kLarge) {
                const double by = 1 / kLarge;
                scale += std::log(kLarge), one *= by, total *= by;
                for (auto* list : {&match_, &down_, &right_})
                    for (double& v : *list) v *= by;
            }
        }
        return (std::log(one + total) + scale) / beta_;
    }

  private:
    static constexpr double kLarge = 1e100;
    std::size_t place(std::int32_t letter) const { return letter < 0 ? side_ - 1 : std::size_t(letter); }
    double beta_, open_, extend_;
    std::size_t side_;
    std::vector<double> factor_, match_, down_, right_;
};

template <class T, class Rule> class EachPair final : public ObjectPairs<T> {
  public:
    EachPair(const Sequences& x, const Sequences& z, const Rule& rule)
        : ObjectPairs<T>(x.count, z.count), x_(x), z_(z), rule_(rule) {}

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        const Index columns = last_column - first_column;
        if (rows <= 0 || columns <= 0) return;
        // Tasks of a row or, where there are few, of parts of one.
        const Index parts = std::min(columns, std::max<Index>(1, 8 * thread_count() / rows));
        parallel(rows * parts, [&](long task) {
            const Index r = task / parts, part = task % parts, i = index ? index[r] : first_row + r;
            Evaluator<Rule> evaluate(rule_, x_.alphabet);
            for (Index j = columns * part / parts; j < columns * (part + 1) / parts; ++j) {
                out[r * stride + j] = T(evaluate(text(x_, i), text(z_, first_column + j)));
                poll();
            }
        });
    }

    void fill_symmetric(T* out, Index stride) const override {
        const Index n = z_.count;
        parallel(n, [&](long i) {
            Evaluator<Rule> evaluate(rule_, x_.alphabet);
            for (Index j = i; j < n; ++j) {
                out[i * stride + j] = out[j * stride + i] = T(evaluate(text(x_, i), text(z_, j)));
                poll();
            }
        });
    }

  private:
    void fill_diagonal(double* out) const override {
        parallel(x_.count, [&](long i) {
            out[i] = Evaluator<Rule>(rule_, x_.alphabet)(text(x_, i), text(z_, i));
            poll();
        });
    }

    Sequences x_, z_;
    Rule rule_;
};

} // namespace

template <class T, class Rule>
std::unique_ptr<ObjectPairs<T>> bind_each(const Sequences& x, const Sequences& z, const Rule& rule) {
    return std::make_unique<EachPair<T, Rule>>(x, z, rule);
}

#define MERCER_RULE(Rule)                                                                                              \
    template std::unique_ptr<ObjectPairs<float>> bind_each(const Sequences&, const Sequences&, const Rule&);           \
    template std::unique_ptr<ObjectPairs<double>> bind_each(const Sequences&, const Sequences&, const Rule&);
MERCER_RULE(WeightedDegree)
MERCER_RULE(Subsequence)
MERCER_RULE(LocalAlignment)

} // namespace mercer
