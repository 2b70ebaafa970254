#include "bind/bind.hpp"
#include "gram/row_cache.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Cache, class Block> void check(const Cache& cache, const Positions& rows, const Block& block) {
    if (block.shape(0) != rows.shape(0) || Index(block.shape(1)) != cache.columns())
        throw std::invalid_argument("expected one row of the matrix's width per position");
}

template <class T> void bind_row_cache(nb::module_& m, const char* name) {
    using Cache = mercer::RowCache<T>;
    using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    nb::class_<Cache>(m, name)
        .def(nb::init<Index, std::size_t>(), "columns"_a, "budget"_a)
        // Fills the rows of out that are cached and returns the positions of those that are not.
        .def(
            "get",
            [](Cache& self, Positions rows, Block out) {
                check(self, rows, out);
                std::vector<Index> missing;
                nb::gil_scoped_release release;
                for (Index r = 0; r < Index(rows.shape(0)); ++r)
                    if (!self.get(rows.data()[r], out.data() + r * Index(out.shape(1)))) missing.push_back(r);
                return missing;
            },
            "rows"_a, "out"_a.noconvert())
        .def(
            "put",
            [](Cache& self, Positions rows, Block values) {
                check(self, rows, values);
                nb::gil_scoped_release release;
                for (Index r = 0; r < Index(rows.shape(0)); ++r)
                    self.put(rows.data()[r], values.data() + r * Index(values.shape(1)));
            },
            "rows"_a, "values"_a.noconvert())
        .def_prop_ro("capacity", &Cache::capacity)
        .def_prop_ro("hits", &Cache::hits)
        .def_prop_ro("misses", &Cache::misses)
        .def("__len__", &Cache::size);
}

} // namespace

void bind_gram(nb::module_& m) {
    bind_row_cache<float>(m, "RowCacheF32");
    bind_row_cache<double>(m, "RowCacheF64");
}
