// Samples packed for the tiles of dense.cpp: panels of a few samples each, coordinate by coordinate side by side, moved
// and scaled by the frame on the way, or as integers where the data lie on a grid.
//
// Rows of which many coordinates are zero are lists of the others, of one row or of as many as a panel has, put
// together such that they are zero in the same places: images, counts and categories cost a part of their width.
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
struct SourceRows {
    const Index* index;
    Index first;
    Index operator[](Index r) const { return index ? index[r] : first + r; }
    SourceRows after(Index r) const { return {index ? index + r : nullptr, first + r}; }
};

// Packed rows, each at its place: panels, [chunk][panel][coordinate][mr], any of which may be lists of a few rows
// instead, in the same room, [list][coordinate][rows].
template <class T> struct Strip {
    Index count = 0;
    Buffer<T> panels, squares;
    T* largest = nullptr;             // of the squares, per panel
    std::vector<Index> order;         // the row at each place
    std::vector<std::uint16_t> which; // the coordinates of lists within their chunk ...
    std::vector<Index> length; // ... and how many they are, [chunk][panel][list]; the first is -1 if the panel is none
    bool zeros = false;        // whether there are lists
};

// What stands in a panel in the place of one T: a number, or as many integers of a grid as fit, of 16 or 8 bits. Bytes
// are unsigned in rows and less 128 in columns; the sums of squares of rows make up for that.
enum class Form { number, words, bytes };
template <class T> Form form_of(Reduction reduction, Index columns, const Frame& frame);
// The bytes that a coordinate takes in a panel.
template <class T> constexpr Index bytes_of(Form form) {
    return form == Form::number ? Index(sizeof(T)) : form == Form::words ? 2 : 1;
}

template <class T> class Packing {
  public:
    Packing(Reduction reduction, Index columns, const Frame& frame);

    // The tiles for panels of integers; null if they hold numbers.
    const IntegerTiles<T>* integers() const { return integers_; }
    const Lists<T>& lists() const { return integers_ ? integers_->lists : isa_.lists; }
    Index depth() const { return depth_; } // of a panel, in places of one T
    Index chunk() const { return chunk_; }
    const Grid& grid() const { return grid_; }
    // Whether these samples can be rows of panels like these.
    bool holds(const Source<T>& source) const {
        return !integers_ || grid_.holds(source, form_ == Form::bytes ? 0 : -Grid::kFarthest);
    }
    const std::vector<double>& scale() const { return scale_; }

    // The samples of a source from number `first` on as a panel of nr columns, [coordinate][nr], with zeros beyond the
    // last. Where distances are wanted, writes the sums of squares and returns the largest.
    T columns(const Source<T>& source, Index first, T* panel, T* squares) const;
    // These samples as rows of a strip.
    const Strip<T>& rows(const Source<T>& source, SourceRows which, Index count, Strip<T>& strip) const;

  private:
    void pack(const Source<T>& source, SourceRows which, Index count, int width, T* panel) const;
    // As rows or as columns, with their sums of squares.
    void pack_integers(const Source<T>& source, SourceRows which, Index count, bool rows, T* panel, T* squares) const;
    bool list(Index depth, Index live, const T* panel, T* values, std::uint16_t* which, Index* length) const;
    bool arrange(const Source<T>& source, SourceRows which, Strip<T>& strip) const;

    const Isa<T>& isa_;
    Index d_;
    Form form_;
    const IntegerTiles<T>* integers_;
    Index depth_, chunk_;
    bool distances_, products_;
    std::vector<double> shift_, scale_; // empty: 0 and 1
    Grid grid_;
};

} // namespace mercer
