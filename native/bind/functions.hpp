// Pairs whose blocks come from Python: an object with fill(out, rows, columns), which holds the lock while it runs.
#pragma once

#include "bind/pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace mercer::python {

inline nanobind::object positions(const std::vector<Index>& index) {
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, const Index>(index.data(), {index.size()}),
                          nanobind::rv_policy::copy);
}

template <class T> class PythonPairs final : public Pairs<T> {
  public:
    PythonPairs(nanobind::object pairs, Index rows, Index columns)
        : pairs_(std::move(pairs)), rows_(rows), columns_(columns) {}
    ~PythonPairs() override {
        nanobind::gil_scoped_acquire gil;
        pairs_.reset();
    }
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        nanobind::gil_scoped_acquire gil;
        std::vector<Index> which(static_cast<std::size_t>(rows));
        for (Index r = 0; r < rows; ++r) which[std::size_t(r)] = index ? index[r] : first_row + r;
        nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>> block(
            out, {std::size_t(rows), std::size_t(last_column - first_column)}, nanobind::handle(), {stride, 1});
        pairs_.attr("fill")(
            nanobind::cast(block, nanobind::rv_policy::reference), positions(which),
            nanobind::slice(nanobind::int_(first_column), nanobind::int_(last_column), nanobind::none()));
    }
    void fill_symmetric(T* out, Index stride) const override { fill(nullptr, 0, rows_, 0, columns_, out, stride); }
    Index grain() const override { return std::max<Index>(1, columns_); }
    // Shows the garbage collector what is held.
    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(pairs_.ptr());
        return 0;
    }

  private:
    nanobind::object pairs_;
    Index rows_, columns_;
};

} // namespace mercer::python
