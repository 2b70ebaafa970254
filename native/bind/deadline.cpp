// What of a limit of time must not be interrupted by the exception that it raises: each is one call, in which nothing
// of Python's runs. src/mercer/deadline.py says how they work together.
#include "bind/bind.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// All of it is read and written under the interpreter's lock.
class Deadline {
  public:
    // An exception's class of its own: whoever holds a reference to it holds the exception.
    Deadline(nb::object kind, std::optional<double> seconds) : kind_(std::move(kind)), seconds_(seconds) {}

    ~Deadline() { end(); }
    Deadline(const Deadline&) = delete;

    // The deadline that counts in this thread: this one from now on, unless there is another.
    static nb::object enter(nb::handle self) {
        auto* own = nb::cast<Deadline*>(self);
        if (current) return nb::find(current);
        if (own->seconds_) own->begin(self);
        return nb::borrow(self);
    }

    // From now on nothing is raised, nor is what has been.
    void end() {
        if (!open_) return;
        open_ = false;
        if (current == this) current = nullptr;
        if (struck_) {
            PyThreadState_SetAsyncExc(thread_, nullptr);
            std::erase(struck, this);
        }
        over_.attr("release")();
        if (struck_ && struck.empty()) unhook();
    }

    // Raises the exception in the thread of the deadline, unless it is on its way there or somebody has it.
    void strike() {
        if (!open_ || held()) return;
        install_hook(); // makes an object, and so may run what the collector of garbage calls; look again
        if (!open_ && struck.empty()) unhook();
        if (!open_ || held()) return;
        if (!struck_) {
            struck_ = true;
            struck.push_back(this);
            idle_ = Py_REFCNT(kind_.ptr());
        }
        raise();
    }

  private:
    void begin(nb::handle self) {
        nb::module_ threads = nb::module_::import_("_thread");
        over_ = threads.attr("allocate_lock")();
        over_.attr("acquire")();
        nb::tuple known = nb::make_tuple(nb::weakref(self), *seconds_, over_);
        threads.attr("start_new_thread")(self.attr("_watch"), known);
        thread_ = PyThread_get_thread_ident();
        open_ = true;
        current = this;
    }

    bool held() const { return struck_ && Py_REFCNT(kind_.ptr()) > idle_; }

    void raise() { PyThreadState_SetAsyncExc(thread_, kind_.ptr()); }

    // Raises it again if it is an exception of ours that was lost; whether it was.
    static bool raise_again(nb::handle lost) {
        const auto owner =
            std::find_if(struck.begin(), struck.end(), [&](Deadline* one) { return one->kind_.is(lost); });
        if (owner == struck.end()) return false;
        (*owner)->raise();
        return true;
    }

    // While an exception of ours is on its way, sys.unraisablehook hears of it first if it lands where no exception can
    // be raised; of all others, and of one that another hook was interrupted by, that hook is told.
    static void install_hook() {
        PyObject* found = PySys_GetObject("unraisablehook");
        if (!found || found == Py_None || found == hook) return;
        nb::object before = nb::borrow(found);
        nb::object ours = nb::cpp_function([before](nb::handle unraisable) {
            if (raise_again(nb::object(unraisable.attr("exc_type")))) return;
            struct Count {
                Count() { ++reporting; }
                ~Count() { --reporting; }
            } count;
            try {
                before(unraisable);
            } catch (const nb::python_error& error) {
                if (!raise_again(error.type())) throw;
            }
        });
        if (PySys_SetObject("unraisablehook", ours.ptr()) != 0) throw nb::python_error();
        if (hook) retired.push_back(hook);
        Py_XDECREF(previous);
        hook = ours.release().ptr();
        previous = before.release().ptr();
    }

    // Whoever has put another hook over ours calls ours as long as it likes: it passes everything on. The interpreter
    // holds no reference to a hook that it calls, so none goes while one may be called in another thread.
    static void unhook() {
        if (!hook || PySys_GetObject("unraisablehook") != hook) return;
        if (PySys_SetObject("unraisablehook", previous) != 0)
            return PyErr_Clear(); // it stays, and passes everything on
        retired.push_back(hook);
        hook = nullptr;
        Py_CLEAR(previous);
        if (reporting == 0)
            for (PyObject* one : std::exchange(retired, {})) Py_DECREF(one);
    }

    static thread_local Deadline* current;
    static std::vector<Deadline*> struck; // those that are open and have struck
    static PyObject *hook, *previous;     // ours, and that which it took the place of
    static std::vector<PyObject*> retired;
    static int reporting; // calls of other hooks by ours that have not returned

    nb::object kind_, over_; // the class, and a lock that is free when all is over
    std::optional<double> seconds_;
    unsigned long thread_ = 0;
    Py_ssize_t idle_ = 0; // references to the class when it is not raised
    bool open_ = false, struck_ = false;
};

thread_local Deadline* Deadline::current = nullptr;
std::vector<Deadline*> Deadline::struck;
PyObject* Deadline::hook = nullptr;
PyObject* Deadline::previous = nullptr;
std::vector<PyObject*> Deadline::retired;
int Deadline::reporting = 0;

} // namespace

void bind_deadline(nb::module_& m) {
    nb::class_<Deadline>(m, "Deadline")
        .def(nb::init<nb::object, std::optional<double>>(), "kind"_a.none(), "seconds"_a.none())
        .def(
            "__enter__", [](nb::handle_t<Deadline> self) { return Deadline::enter(self); },
            nb::sig("def __enter__(self) -> typing.Self"))
        .def(
            "__exit__", [](Deadline& self, const nb::args&) { self.end(); },
            nb::sig("def __exit__(self, *error: object) -> None"))
        .def("end", &Deadline::end)
        .def("strike", &Deadline::strike);
}
