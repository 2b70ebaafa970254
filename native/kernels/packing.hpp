// Samples packed for the tiles of dense.cpp: panels of a few samples each, coordinate by coordinate side by side, moved
// and scaled by the frame on the way, or as integers where the data lie on a grid.
//
// Row panels leave out the coordinates in which all their samples are zero, where those are many, and samples that are
// zero in the same places are put into the same panel: images, counts and categories cost a part of their width.
#pragma once

#include "kernels/formula.hpp"
#include "kernels/isa.hpp"
#include "memory/buffer.hpp"
#include "samples/source.hpp"

#include <cstdint>
#include <vector>

namespace mercer {

inline Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

// Some samples of a source: those that `index` names or, without it, consecutive ones.
struct Chosen {
    const Index* index;
    Index first;
    Index operator[](Index r) const { return index ? index[r] : first + r; }
    Chosen after(Index r) const { return {index ? index + r : nullptr, first + r}; }
};

// Packed rows, each at its place in the panels: [chunk][panel][coordinate][mr].
template <class T> struct Strip {
    Index count = 0;
    Buffer<T> panels, squares;
    T* largest = nullptr;            // of the squares, per panel
    std::vector<Index> order;        // the row at each place
    std::vector<std::int32_t> which; // the coordinates of a chunk of a panel, where some are left out ...
    std::vector<Index> length;       // ... and how many they are, -1 if none is
};

template <class T> class Packing {
  public:
    Packing(Pair pair, Index columns, const Frame& frame);

    bool words() const { return words_; }  // panels hold the integers of a grid, kGroup in the place of one T
    Index depth() const { return depth_; } // of a panel: coordinates or words
    Index chunk() const { return chunk_; }
    const Grid& grid() const { return grid_; }
    const std::vector<double>& scale() const { return scale_; }

    // The samples of a source from number `first` on as a panel of nr columns, [coordinate][nr], with zeros beyond the
    // last. Where distances are wanted, writes the sums of squares and returns the largest.
    T columns(const Source<T>& source, Index first, T* panel, T* squares) const;
    // These samples as rows of a strip.
    const Strip<T>& rows(const Source<T>& source, Chosen which, Index count, Strip<T>& strip) const;

  private:
    void pack(const Source<T>& source, Chosen which, Index count, int width, T* panel) const;
    void pack_words(const Source<T>& source, Chosen which, Index count, int width, T* panel) const;
    Index pack_some(Index depth, Index live, const T* panel, T* target, std::int32_t* which) const;
    bool arrange(const Source<T>& source, Chosen which, Strip<T>& strip) const;

    static constexpr Index kGroup = sizeof(T) / sizeof(std::int16_t);
    const Isa<T>& isa_;
    Index d_;
    bool words_;
    Index depth_, chunk_;
    bool distances_, products_;
    std::vector<double> shift_, scale_; // empty: 0 and 1
    Grid grid_;
};

} // namespace mercer
