#include "bind/bind.hpp"
#include "bind/pairs.hpp"
#include "strings/alignments.hpp"
#include "strings/differences.hpp"
#include "strings/words.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::Out;
using mercer::python::Positions;

namespace {

template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Made = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;
using Letters = Array<std::int32_t>;
using Keys = Array<mercer::Key>;

template <class T> Made<T> handed_over(std::vector<T> values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Made<T>(kept->data(), {kept->size()}, owner);
}

void check_offsets(const Positions& offsets, std::size_t total) {
    const std::size_t n = offsets.shape(0);
    if (n == 0 || offsets.data()[0] != 0 || std::size_t(offsets.data()[n - 1]) != total)
        throw std::invalid_argument("offsets must run from 0 to the number of entries");
    for (std::size_t i = 1; i < n; ++i)
        if (offsets.data()[i] < offsets.data()[i - 1]) throw std::invalid_argument("offsets must not fall");
}

// Sequences, or the words of sequences, with the arrays that own their memory.
struct Strings {
    mercer::Sequences view;
    nb::object owner;
};

Strings strings(Letters letters, Positions offsets, std::int32_t alphabet) {
    check_offsets(offsets, letters.shape(0));
    for (std::size_t p = 0; p < letters.shape(0); ++p)
        if (letters.data()[p] < -1 || letters.data()[p] >= alphabet) throw std::out_of_range("a letter");
    return {{Index(offsets.shape(0)) - 1, offsets.data(), letters.data(), alphabet}, nb::make_tuple(letters, offsets)};
}

struct Bag {
    mercer::Bags view;
    nb::object owner;
};

Bag bag(Keys keys, Array<double> values, Positions indptr, std::int32_t alphabet, Index length) {
    check_offsets(indptr, keys.shape(0));
    if (values.shape(0) != keys.shape(0)) throw std::invalid_argument("one value per key");
    return {{Index(indptr.shape(0)) - 1, indptr.data(), keys.data(), values.data(), alphabet, length},
            nb::make_tuple(keys, values, indptr)};
}

template <class T> struct StringPairs {
    std::unique_ptr<mercer::Pairs<T>> pairs;
    Index rows, columns;
    nb::object owner;
    void fill(std::optional<Positions> index, Index first_row, Index first_column, Out<T> out) const {
        mercer::python::fill(*pairs, rows, columns, index, first_row, first_column, out);
    }
    void fill_symmetric(Out<T> out) const { mercer::python::fill_symmetric(*pairs, columns, out); }
};

template <class T> void bind_pairs(nb::module_& m, const char* name, const char* differences, const char* each) {
    nb::class_<StringPairs<T>>(m, name)
        .def("fill", &StringPairs<T>::fill, "index"_a.none(), "first_row"_a, "first_column"_a, "out"_a.noconvert())
        .def("fill_symmetric", &StringPairs<T>::fill_symmetric, "out"_a.noconvert());
    m.def(
        differences,
        [](const Bag& x, const Bag& z, const std::vector<double>& weights) {
            std::unique_ptr<mercer::Pairs<T>> pairs;
            {
                nb::gil_scoped_release release;
                pairs = mercer::bind_differences<T>(x.view, z.view, weights);
            }
            return new StringPairs<T>{std::move(pairs), x.view.count, z.view.count, nb::make_tuple(x.owner, z.owner)};
        },
        "x"_a, "z"_a, "weights"_a);
    auto of = [&]<class Rule>(const Rule*) {
        m.def(
            each,
            [](const Strings& x, const Strings& z, const Rule& rule) {
                return new StringPairs<T>{mercer::bind_each<T>(x.view, z.view, rule), x.view.count, z.view.count,
                                          nb::make_tuple(x.owner, z.owner)};
            },
            "x"_a, "z"_a, "rule"_a);
    };
    of(static_cast<mercer::WeightedDegree*>(nullptr));
    of(static_cast<mercer::Subsequence*>(nullptr));
    of(static_cast<mercer::LocalAlignment*>(nullptr));
}

template <class Rule> void bind_diagonal(nb::module_& m) {
    m.def(
        "string_diagonal",
        [](const Strings& x, const Rule& rule) {
            std::vector<double> out(std::size_t(x.view.count));
            {
                nb::gil_scoped_release release;
                mercer::each_diagonal(x.view, rule, out.data());
            }
            return handed_over(std::move(out));
        },
        "x"_a, "rule"_a);
}

} // namespace

void bind_strings(nb::module_& m) {
    nb::class_<Strings>(m, "Strings");
    m.def("strings", &strings, "letters"_a.noconvert(), "offsets"_a.noconvert(), "alphabet"_a);
    nb::class_<Bag>(m, "Bag");
    m.def("bag", &bag, "keys"_a.noconvert(), "values"_a.noconvert(), "indptr"_a.noconvert(), "alphabet"_a, "length"_a);
    m.def(
        "count_words",
        [](const Strings& x, Index shortest, Index longest, bool both_strands, Index mismatches) {
            mercer::WordCounts counts;
            {
                nb::gil_scoped_release release;
                counts = mercer::count_words(x.view, {shortest, longest, both_strands, mismatches});
            }
            return std::tuple(handed_over(std::move(counts.keys)), handed_over(std::move(counts.values)),
                              handed_over(std::move(counts.indptr)));
        },
        "x"_a, "shortest"_a, "longest"_a, "both_strands"_a, "mismatches"_a);
    m.def(
        "list_words",
        [](const Strings& x, Index shortest, Index longest, bool both_strands) {
            std::vector<mercer::Key> keys;
            {
                nb::gil_scoped_release release;
                keys = mercer::list_words(x.view, {shortest, longest, both_strands, 0});
            }
            return handed_over(std::move(keys));
        },
        "x"_a, "shortest"_a, "longest"_a, "both_strands"_a);
    nb::class_<mercer::Vocabulary>(m, "Vocabulary")
        .def(
            "__init__",
            [](mercer::Vocabulary* self, Keys keys) {
                nb::gil_scoped_release release;
                new (self) mercer::Vocabulary(keys.data(), Index(keys.shape(0)));
            },
            "keys"_a.noconvert())
        .def("__len__", &mercer::Vocabulary::size)
        .def(
            "find",
            [](const mercer::Vocabulary& self, Keys keys) {
                std::vector<std::int32_t> out(keys.shape(0));
                {
                    nb::gil_scoped_release release;
                    self.find(keys.data(), Index(keys.shape(0)), out.data());
                }
                return handed_over(std::move(out));
            },
            "keys"_a.noconvert());
    nb::class_<mercer::WeightedDegree>(m, "WeightedDegree")
        .def(
            "__init__",
            [](mercer::WeightedDegree* self, std::vector<double> weight, Index shift) {
                new (self) mercer::WeightedDegree{std::move(weight), shift};
            },
            "weight"_a, "shift"_a);
    nb::class_<mercer::Subsequence>(m, "Subsequence")
        .def(
            "__init__",
            [](mercer::Subsequence* self, Index length, double decay) {
                new (self) mercer::Subsequence{length, decay};
            },
            "length"_a, "decay"_a);
    nb::class_<mercer::LocalAlignment>(m, "LocalAlignment")
        .def(
            "__init__",
            [](mercer::LocalAlignment* self, std::vector<double> score, double open, double extend, double beta) {
                new (self) mercer::LocalAlignment{std::move(score), open, extend, beta};
            },
            "score"_a, "open"_a, "extend"_a, "beta"_a);
    m.def(
        "differences_diagonal",
        [](const Bag& x, const Bag& z, const std::vector<double>& weights) {
            std::vector<double> out(std::size_t(x.view.count));
            {
                nb::gil_scoped_release release;
                mercer::differences_diagonal(x.view, z.view, weights, out.data());
            }
            return handed_over(std::move(out));
        },
        "x"_a, "z"_a, "weights"_a);
    m.def("fits_differences", &mercer::fits_differences, "alphabet"_a, "length"_a);
    bind_diagonal<mercer::WeightedDegree>(m);
    bind_diagonal<mercer::Subsequence>(m);
    bind_diagonal<mercer::LocalAlignment>(m);
    bind_pairs<float>(m, "StringPairsF32", "difference_pairs_f32", "string_pairs_f32");
    bind_pairs<double>(m, "StringPairsF64", "difference_pairs_f64", "string_pairs_f64");
}
