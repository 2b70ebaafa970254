#include "bind/bind.hpp"
#include "memory/buffer.hpp"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace nb = nanobind;
using namespace nb::literals;

void bind_memory(nb::module_& m) {
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const mercer::OutOfMemory&) {
            throw; // says how much
        } catch (const std::bad_alloc& error) {
            if (std::strcmp(error.what(), std::bad_alloc().what()) != 0) throw;
            PyErr_SetString(PyExc_MemoryError, "there is no memory left for the lists of the core");
        }
    });
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
