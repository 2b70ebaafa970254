// Kernels made of others: a short program, in postfix order, over blocks of several matrices of the same samples. Sums,
// products, scales, powers, norms and centres of kernels are such programs; none knows what its parts are.
#pragma once

#include "kernels/formula.hpp"
#include "kernels/pairs.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace mercer {

// What an instruction does to the stack of values. Each is symmetric in the two samples to the last bit.
enum class Action : int {
    part,             // pushes the entry of a part
    constant,         // pushes a number
    add,              // replaces the two on top by their sum
    multiply,         // or their product
    steps,            // applies elementwise steps to the top
    multiply_borders, // times u_i v_j; with a diagonal, these are the entries of a sample with itself
    subtract_borders, // minus (u_i + v_j)
    inner_product,    // of the squared distance on top: (u_i + v_j - D^2) / 2, u and v being the squares of the samples
};

// One number of each row and one of each column.
struct Borders {
    std::vector<double> of_x, of_z;
    std::vector<double> diagonal; // by rows; empty: the diagonal is like all other entries
};

struct Instruction {
    Action action;
    Index operand = 0; // the number of a part, or of the borders
    double value = 0;
    std::vector<Step> steps = {};
};

struct Program {
    std::vector<Instruction> instructions;
    std::vector<Borders> borders;

    // Throws std::invalid_argument unless it can run on `parts` parts of this shape and leaves one value.
    void check(Index parts, Index rows, Index columns) const;
    Index depth() const; // of the stack
    // Whether it must know which samples meet themselves.
    bool exact_diagonal() const {
        return std::any_of(borders.begin(), borders.end(), [](const Borders& b) { return !b.diagonal.empty(); });
    }
    // The same program for some of the samples of a square matrix.
    Program between(const std::vector<Index>& rows, const std::vector<Index>& columns) const;
};

// For each row, the columns that are the same sample; none where the two sides have nothing in common.
struct Diagonal {
    std::vector<Index> starts, columns; // those of row r are columns[starts[r]] .. columns[starts[r + 1] - 1]

    static Diagonal of(Index samples); // of a matrix of samples with themselves
    static Diagonal of(const std::vector<Index>& rows, const std::vector<Index>& columns);
};

// The matrix that a program makes of parts of this shape. It is computed tile by tile: the parts' blocks, which fit in
// the cache, and a run of a row after the other of what the program makes of them.
template <class T> std::unique_ptr<Pairs<T>> compose(std::vector<std::shared_ptr<const Pairs<T>>> parts,
                                                     Program program, Index rows, Index columns, Diagonal diagonal);

} // namespace mercer
