// The matrices that solvers work on, together with the Python arrays that own their memory.
#pragma once

#include "bind/pairs.hpp"
#include "gram/matrices.hpp"

#include <nanobind/nanobind.h>

#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

namespace mercer::python {

struct BoundMatrices {
    Matrices matrices;
    nanobind::object owner;
    // Whether its rows in single precision have the very bits of the blocks that Python's pairs give, as those in
    // double precision have; else they are for solvers alone.
    bool same_bits = true;
};

// The memory of an order, checked: a choice of at most `rows` rows, all of which exist.
inline const Index* checked(const Positions& order, Index rows) {
    for (std::size_t i = 0; i < order.shape(0); ++i)
        if (order.data()[i] < 0 || order.data()[i] >= rows) throw std::invalid_argument("an order of other samples");
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
