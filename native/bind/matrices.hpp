// The matrices that solvers work on, together with the Python arrays that own their memory.
#pragma once

#include "bind/pairs.hpp"
#include "gram/matrices.hpp"

#include <nanobind/nanobind.h>

#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace mercer::python {

struct BoundMatrices {
    Matrices matrices;
    nanobind::object owner;
    // Whether its rows in single precision have the very bits of the blocks that Python's pairs give, as those in
    // double precision have; else they are for solvers alone.
    bool same_bits = true;
};

// Throws unless all of these are among so many samples.
inline void check_positions(const Positions& positions, Index samples, const char* name) {
    for (std::size_t i = 0; i < positions.shape(0); ++i)
        if (const Index position = positions.data()[i]; position < 0 || position >= samples)
            throw std::out_of_range(std::string(name) + " must hold positions of samples, 0 .. " +
                                    std::to_string(samples - 1) + ", but holds " + std::to_string(position));
}
// The memory of an order, checked: a choice of rows, all of which exist.
inline const Index* checked(const Positions& order, Index rows) {
    check_positions(order, rows, "order");
    return order.data();
}
// The same as numbers; without an order, all rows as they stand.
inline std::vector<Index> places(const std::optional<Positions>& order, Index rows) {
    if (order) return {checked(*order, rows), order->data() + order->shape(0)};
    std::vector<Index> every(static_cast<std::size_t>(rows));
    std::iota(every.begin(), every.end(), Index(0));
    return every;
}

} // namespace mercer::python
