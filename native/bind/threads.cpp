#include "bind/bind.hpp"
#include "threads/pool.hpp"

namespace nb = nanobind;

// threadpoolctl finds these two by name in the loaded library.
extern "C" {
__attribute__((visibility("default"))) int mercer_get_num_threads() { return mercer::thread_count(); }
__attribute__((visibility("default"))) void mercer_set_num_threads(int n) { mercer::set_thread_count(n < 1 ? 1 : n); }
}

// One for each thread: signals are answered by the main thread alone, but any may have a limit of time.
static thread_local PyObject* interrupt = nullptr;

// Whether the interpreter has an exception for this thread: a signal's, or that of a limit of time, which it raises
// before the next function of Python's, of which mercer.deadline has one that does nothing else.
static bool asked_to_stop() {
    if (PyErr_CheckSignals() != 0) return true;
    nb::str name("mercer.deadline");
    PyObject* deadline = PyImport_GetModule(name.ptr());
    if (!deadline) {
        PyErr_Clear();
        return false; // nobody has set a limit
    }
    PyObject* done = PyObject_CallMethod(deadline, "look", nullptr);
    Py_DECREF(deadline);
    Py_XDECREF(done);
    return done == nullptr;
}

void keep_interrupt(nb::object exception) {
    Py_XDECREF(interrupt);
    interrupt = exception.release().ptr();
}
nb::object take_interrupt() {
    PyObject* taken = interrupt ? interrupt : PyObject_CallNoArgs(PyExc_KeyboardInterrupt);
    interrupt = nullptr;
    return nb::steal(taken);
}

void bind_threads(nb::module_& m) {
    m.def("thread_count", &mercer::thread_count);
    m.def("set_thread_count", &mercer::set_thread_count, nb::arg("count"));
    mercer::set_interrupt_hook([] {
        nb::gil_scoped_acquire gil;
        if (!asked_to_stop()) return false;
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        if (traceback) PyException_SetTraceback(value, traceback);
        Py_XDECREF(type);
        Py_XDECREF(traceback);
        keep_interrupt(nb::steal(value));
        return true;
    });
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const mercer::Interrupted&) {
            nb::object raised = take_interrupt();
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
        }
    });
}
