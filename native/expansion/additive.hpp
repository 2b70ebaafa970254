// Sums of functions of single coordinates, f(x) = sum_j g_j(x_j): what an expansion of an additive kernel is, however
// many samples span it. Every g_j is piecewise linear, so it is a sorted list of knots and the lines between them.
//
// Of the intersection kernel that is exact (Maji, Berg, Malik, CVPR 2008): with the samples' entries z_i as knots,
//
//     g(t) = sum_i a_i min(t, z_i) = (sum of a_i z_i over z_i <= t) + t (sum of a_i over z_i > t).
//
// Where there are many knots, what a look-up costs is the memory it touches. So a few knots share one piece, which is
// one cache line where f is a number: from the knot p where the piece starts to the start of the next,
//
//     g(t) = g(p) + g'(p) (t - p) + sum_k a_k min(0, z_k - t)    over the knots z_k within the piece.
#pragma once

#include "expansion/knot_search.hpp"
#include "memory/buffer.hpp"

#include <variant>

namespace mercer {

// Functions of one coordinate each, with values of `segments * outputs` numbers and g(0) = 0.
class AdditiveFunction {
  public:
    // From an expansion of the intersection kernel: a row of `outputs` weights for each sample of z, and the sums of
    // each segment of samples apart. Segment s begins at starts[s] and ends where the next begins.
    template <class T> static AdditiveFunction intersection(const Source<T>& z, const double* weights, Index outputs,
                                                            const std::vector<Index>& starts);
    // Through given values at knots shared by all coordinates: values[(j * knots + m) * outputs + o]. Straight to 0
    // below the first knot, and constant above the last.
    static AdditiveFunction through(const std::vector<double>& knots, const double* values, Index coordinates,
                                    Index outputs);

    Index coordinates() const { return Index(pieces_.size()); }
    Index segments() const { return segments_; }
    Index outputs() const { return outputs_; }
    std::size_t bytes() const;

    // Writes f of every row: out[(i * segments + s) * outputs + o]. Entries of x must be >= 0.
    template <class T> void evaluate(const Source<T>& x, double* out) const;

  private:
    struct SampleValue;
    template <class A> struct Piece; // A: float or double, as the entries of the samples are
    struct Tile;
    // The pieces of one coordinate; the first starts at 0, the others at the knots of the search.
    struct Pieces {
        std::variant<KnotSearch<double>, KnotSearch<float>> search; // empty where it is shared
        std::byte* records = nullptr;
    };

    Index values() const { return segments_ * outputs_; }
    std::size_t record() const; // bytes
    template <class A> Piece<A> piece(std::byte* records, Index number) const;
    std::vector<std::size_t> cut(const std::vector<SampleValue>& entries) const;
    template <class A> std::vector<std::byte> build(const std::vector<SampleValue>& entries, const double* weights,
                                                    KnotSearch<A>& search) const;
    template <class A> const KnotSearch<A>& search(Index coordinate) const;
    template <class A, class T>
    void add(Index coordinate, const T* t, const std::int32_t* at, Index count, double* sums) const;
    template <class A, class T> void add_tile(Index coordinate, const Tile& tile, const Tile& next, const T* t,
                                              const std::int32_t* at, double* sums) const;

    Index segments_ = 1, outputs_ = 1;
    Index within_ = 0;    // the most knots within a piece
    bool narrow_ = false; // whose values are of float32
    KnotSearch<double> shared_;
    std::vector<Pieces> pieces_;
    Buffer<std::byte> records_; // of all coordinates: few large pages
};

} // namespace mercer
