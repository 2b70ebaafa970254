// Sums of functions of single coordinates, f(x) = sum_j g_j(x_j): what an expansion of an additive kernel is, however
// many samples span it. Every g_j is piecewise linear, so it is a sorted list of knots and a line for each piece.
//
// Of the intersection kernel that is exact (Maji, Berg, Malik, CVPR 2008): with the samples' entries z_i as knots,
//
//     g(t) = sum_i a_i min(t, z_i) = (sum of a_i z_i over z_i <= t) + t (sum of a_i over z_i > t).
#pragma once

#include "samples/source.hpp"

#include <vector>

namespace mercer {

// Sorted positive knots, and where to look among them: one bucket for each range of the leading bits of a number. A few
// halvings of the fullest bucket follow, the same number for every t and without a branch, so that searches overlap.
class Ladder {
  public:
    Ladder() = default;
    explicit Ladder(const std::vector<double>& knots);
    bool empty() const { return size_ == 0; }
    Index size() const { return size_; }
    // The number of knots <= t, for each of `count` numbers >= 0.
    void below(const double* t, Index count, std::int32_t* places) const;
    // The numbers, and where they are from (`at`; null if in order), roughly sorted: neighbours then find their knots,
    // and what belongs to the knots, close together in memory.
    void arrange(const double* t, const std::int32_t* at, Index count, double* to, std::int32_t* to_at) const;
    std::size_t bytes() const { return knots_.size() * sizeof(double) + guide_.size() * sizeof(std::int32_t); }

  private:
    Index bucket(double t) const;

    Index size_ = 0;
    std::vector<double> knots_;       // then infinity, as often as a search may look beyond the end
    std::vector<std::int32_t> guide_; // guide_[b]: the knots below bucket b; the last bucket is beyond all knots
    int shift_ = 0;
    Index first_ = 0; // the leading bits of the lowest knot
    Index reach_ = 0; // a power of two, more than the fullest bucket holds
};

// Functions of one coordinate each, with values of `segments * outputs` numbers and g(0) = 0.
class Curves {
  public:
    // From an expansion of the intersection kernel: a row of `outputs` weights for each sample of z, and the sums of
    // each segment of samples apart. Segment s begins at starts[s] and ends where the next begins.
    template <class T> static Curves intersection(const Source<T>& z, const double* weights, Index outputs,
                                                  const std::vector<Index>& starts);
    // Through given values at knots shared by all coordinates: values[(j * knots + m) * outputs + o]. Straight to 0
    // below the first knot, and constant above the last.
    static Curves through(const std::vector<double>& knots, const double* values, Index coordinates, Index outputs);

    Index coordinates() const { return Index(pieces_.size()); }
    Index segments() const { return segments_; }
    Index outputs() const { return outputs_; }
    std::size_t bytes() const;

    // Writes f of every row: out[(i * segments + s) * outputs + o]. Entries of x must be >= 0.
    template <class T> void evaluate(const Source<T>& x, double* out) const;

  private:
    // The lines of one coordinate. Of segment s they begin at lines[start[s]]; a line is `outputs` intercepts, then as
    // many slopes. With several segments, place[s * (knots + 1) + below] counts the knots of that one.
    struct Pieces {
        Ladder ladder; // empty where it is shared
        std::vector<Index> start;
        std::vector<std::int32_t> place;
        std::vector<double> lines;
    };

    struct Block;
    void add(const Pieces& pieces, Block& block, Index first, Index last, double* sums, Index rows) const;

    Index segments_ = 1, outputs_ = 1;
    Ladder shared_;
    std::vector<Pieces> pieces_;
};

} // namespace mercer
