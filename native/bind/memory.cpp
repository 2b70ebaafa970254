#include "bind/bind.hpp"
#include "memory/buffer.hpp"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nb = nanobind;
using namespace nb::literals;

void bind_memory(nb::module_& m) {
    // Uninitialised bytes of a Buffer, which goes back when the last array that looks into it is gone.
    m.def(
        "memory",
        [](std::size_t bytes) {
            using Bytes = mercer::Buffer<std::uint8_t>;
            auto buffer = std::make_unique<Bytes>(bytes);
            std::uint8_t* data = buffer->data();
            nb::capsule owner(buffer.release(), [](void* p) noexcept { delete static_cast<Bytes*>(p); });
            return nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {bytes}, owner);
        },
        "bytes"_a);
    m.def("keep_at_most", &mercer::keep_at_most, "bytes"_a);
}
