#include "bind/bind.hpp"
#include "threads/pool.hpp"

namespace nb = nanobind;

// threadpoolctl finds these two by name in the loaded library.
extern "C" {
__attribute__((visibility("default"))) int mercer_get_num_threads() { return mercer::thread_count(); }
__attribute__((visibility("default"))) void mercer_set_num_threads(int n) { mercer::set_thread_count(n < 1 ? 1 : n); }
}

void bind_threads(nb::module_& m) {
    m.def("thread_count", &mercer::thread_count);
    m.def("set_thread_count", &mercer::set_thread_count, nb::arg("count"));
    mercer::set_interrupt_hook([] {
        nb::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;
    });
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const mercer::Interrupted&) {
            // PyErr_CheckSignals has set the exception of the signal's handler already.
            if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
}
