// What one instruction set provides to the engine: tiles of a reduction, and elementwise steps.
// Everything else (blocking, packing, threads) is written once and does not know which one runs.
#pragma once

#include "kernels/formula.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace mercer {

// Coordinates are summed in registers a chunk at a time before the partial sum joins the total. It keeps a
// panel's chunk in the first-level cache and the rounding error of long sums small. The chunks of a sum are
// of equal length: at most 256 coordinates and, in float32, as many chunks as keep the error of the total below some
// 12 ulp (it grows like the square root of their length over their number). Internal linkage: see variant.cpp.
template <class T> static constexpr std::ptrdiff_t chunk(std::ptrdiff_t depth) {
    std::ptrdiff_t chunks = (depth + 255) / 256;
    if (chunks < 1) chunks = 1;
    while (sizeof(T) == 4 && depth > 49 * chunks * chunks) ++chunks;
    return (depth + chunks - 1) / chunks;
}

// acc[mr][nr] (+)= reduction over `depth` coordinates of a row panel and a column panel; rows <= mr are live.
template <class T> using Tile = void (*)(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first);
// Lists, each of the coordinates in which some of a few rows are not zero: length[l] of them, which[l][depth], and
// their values[l][depth][rows].
template <class T> struct Nonzeros {
    std::ptrdiff_t lists, depth;
    const std::int64_t* length;
    const std::uint16_t* which;
    const T* values;
};
// acc[row][nr] (+)= the inner products of such rows and a column panel, for up to `abreast` panels that lie `stride`
// apart, and their results `acc_stride`.
template <class T> struct Lists {
    int rows, abreast;
    void (*sum)(const Nonzeros<T>& x, int panels, const T* b, std::ptrdiff_t stride, T* acc, std::ptrdiff_t acc_stride,
                bool first);
};

// The same for panels of integers, as many as fit in the place of one T: exact. Sums are one or two 32-bit integers in
// that place, until integer_distances() makes them one T.
template <class T> struct IntegerTiles {
    Tile<T> tile;
    Lists<T> lists;
};

// What is linear in an entry and in a number of each of its two samples, or a small power of that:
// (scale x + (u + v))^power.
template <class T> struct PowerTerm {
    T scale, u;
    const T* v;
    int power; // 1 to kMostOfTerm
};
constexpr int kMostOfTerm = 3;

// Elementwise functions of n entries of a row: see runs.hpp.
template <class T> struct Runs {
    void (*add)(std::size_t n, const T* a, T factor, const T* b, T* to); // a + factor b
    void (*multiply)(std::size_t n, const T* a, const T* b, T* to);
    void (*multiply_borders)(std::size_t n, T u, const T* v, const T* from, T* to);
    void (*subtract_borders)(std::size_t n, T u, const T* v, const T* from, T* to);
    void (*inner_product)(std::size_t n, T u, const T* v, const T* from, T* to);
    // The same with a term made of x instead of b.
    void (*add_term)(std::size_t n, const T* a, T factor, const PowerTerm<T>& term, const T* x, T* to);
    void (*multiply_term)(std::size_t n, const T* a, const PowerTerm<T>& term, const T* x, T* to);
    void (*steps)(const Step* step, const Step* end, std::size_t n, const T* from, T* to);
};

template <class T> struct Isa {
    int mr;    // rows of a tile: a row panel stores coordinate k of mr samples side by side
    int nr;    // columns of a tile: a column panel does the same for nr samples
    int strip; // rows and columns of a macro block, a multiple of mr and nr
    Tile<T> tile[kReductionCount];
    Lists<T> lists; // of Reduction::dot
    // sum of squares of each of the mr (nr) samples of a panel, in exactly the order in which tile() sums.
    void (*row_squares)(std::ptrdiff_t depth, const T* a, T* out);
    void (*column_squares)(std::ptrdiff_t depth, const T* b, T* out);
    // tile[i][j] <- the steps applied to max(0, (rows[i] + columns[j]) - 2 tile[i][j])
    void (*distances)(int rows, const T* row_squares, const T* column_squares, const Step* step, const Step* end,
                      T* tile);
    // The same but for rows in which a distance is below slope (rows[i] + columns[j]) + offset: bit i of what it
    // returns is set, and its distances are left without steps.
    unsigned (*suspects)(int rows, const T* row_squares, const T* column_squares, T slope, T offset, const Step* step,
                         const Step* end, T* tile);
    IntegerTiles<T> words; // of signed 16-bit integers
    // distances() of integers, which are times `unit`; squares, too, are 32-bit integers.
    void (*integer_distances)(int rows, const T* row_squares, const T* column_squares, T unit, const Step* step,
                              const Step* end, T* tile);
    // sum (scale (x - z))^2 by differences; scale may be null.
    T (*direct)(std::ptrdiff_t depth, const T* x, const T* z, const T* scale);
    void (*apply)(const Step* step, const Step* end, T* values, std::size_t n);
    Runs<T> runs;
    // out[i * out_stride + o] += sum_k block[i * row_stride + k * stride] weights[k * padded + o] for o < padded, which
    // is 1 or a multiple of the numbers W in a vector; one of the strides of the block is 1. Summed in the precision W.
    template <class W> using Multiply = void (*)(std::ptrdiff_t rows, std::ptrdiff_t n, const T* block,
                                                 std::ptrdiff_t row_stride, std::ptrdiff_t stride, const W* weights,
                                                 std::ptrdiff_t padded, double* out, std::ptrdiff_t out_stride);
    Multiply<T> multiply_same;
    Multiply<double> multiply_double;
    template <class W> Multiply<W> multiply() const {
        if constexpr (std::is_same_v<W, T>)
            return multiply_same;
        else
            return multiply_double;
    }
};

template <class T> struct Scans; // of the SMO solver, see solvers/scan.hpp
struct Tally;                    // of kernels of sequences, see strings/tally.hpp

struct InstructionSet {
    const char* name;
    bool (*available)();
    const Isa<float>* f32;
    const Isa<double>* f64;
    const Scans<float>* scans32;
    const Scans<double>* scans64;
    const Tally* tally;
    const IntegerTiles<float>* bytes32; // of unsigned rows and signed columns, for the same tiles; null: no instruction
    const IntegerTiles<double>* bytes64;
    template <class T> const Isa<T>& of() const;
    template <class T> const IntegerTiles<T>* bytes() const;
};
template <> inline const IntegerTiles<float>* InstructionSet::bytes<float>() const { return bytes32; }
template <> inline const IntegerTiles<double>* InstructionSet::bytes<double>() const { return bytes64; }
template <> inline const Isa<float>& InstructionSet::of<float>() const { return *f32; }
template <> inline const Isa<double>& InstructionSet::of<double>() const { return *f64; }

// The set in use: the widest this processor has, unless select_instruction_set() named another.
const InstructionSet& instruction_set();
std::vector<const InstructionSet*> instruction_sets();
void select_instruction_set(const char* name);

} // namespace mercer
