#include "bind/objects.hpp"

#include "bind/bind.hpp"

#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::python::BoundObjects;

namespace {

template <class T>
void diagonal(const BoundObjects<T>& self, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
    if (mercer::Index(out.shape(0)) != self.rows) throw std::invalid_argument("out must have one entry per object");
    nb::gil_scoped_release release;
    self.compared->diagonal(out.data());
}

template <class T> void bind_pairs(nb::module_& m, const char* name) {
    nb::class_<BoundObjects<T>, mercer::python::BoundPairs<T>>(m, name).def("diagonal", &diagonal<T>,
                                                                            "out"_a.noconvert());
}

} // namespace

void bind_objects(nb::module_& m) {
    bind_pairs<float>(m, "ObjectPairsF32");
    bind_pairs<double>(m, "ObjectPairsF64");
}
