#include "bind/bind.hpp"
#include "bind/objects.hpp"
#include "strings/alignments.hpp"
#include "strings/differences.hpp"
#include "strings/words.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::Array;
using mercer::python::handed_over;

namespace {

using Positions = Array<Index>;
using Letters = Array<std::int32_t>;
using Keys = Array<mercer::Key>;
using Strings = mercer::python::Owned<mercer::Sequences>;
using Bags = mercer::python::Owned<mercer::Bags>;

void check_offsets(const Positions& offsets, std::size_t total) {
    const std::size_t n = offsets.shape(0);
    if (n == 0 || offsets.data()[0] != 0 || std::size_t(offsets.data()[n - 1]) != total)
        throw std::invalid_argument("offsets must run from 0 to the number of entries");
    for (std::size_t i = 1; i < n; ++i)
        if (offsets.data()[i] < offsets.data()[i - 1]) throw std::invalid_argument("offsets must not fall");
}

Strings strings(Letters letters, Positions offsets, std::int32_t alphabet) {
    check_offsets(offsets, letters.shape(0));
    for (std::size_t p = 0; p < letters.shape(0); ++p)
        if (letters.data()[p] < -1 || letters.data()[p] >= alphabet) throw std::out_of_range("a letter");
    return {{Index(offsets.shape(0)) - 1, offsets.data(), letters.data(), alphabet}, nb::make_tuple(letters, offsets)};
}

Bags bags(Keys keys, Array<double> values, Positions indptr, std::int32_t alphabet, Index length) {
    check_offsets(indptr, keys.shape(0));
    if (values.shape(0) != keys.shape(0)) throw std::invalid_argument("one value per key");
    return {{Index(indptr.shape(0)) - 1, indptr.data(), keys.data(), values.data(), alphabet, length},
            nb::make_tuple(keys, values, indptr)};
}

// The kernels that compare two sequences, in one precision.
template <class T> void bind_comparisons(nb::module_& m, const char* differences, const char* each) {
    using mercer::python::bind_comparison;
    bind_comparison(m, differences, &mercer::bind_differences<T>, "weights"_a);
    bind_comparison(m, each, &mercer::bind_each<T, mercer::WeightedDegree>, "rule"_a);
    bind_comparison(m, each, &mercer::bind_each<T, mercer::Subsequence>, "rule"_a);
    bind_comparison(m, each, &mercer::bind_each<T, mercer::LocalAlignment>, "rule"_a);
}

} // namespace

void bind_strings(nb::module_& m) {
    nb::class_<Strings>(m, "Strings")
        .def(
            "__init__",
            [](Strings* self, Letters letters, Positions offsets, std::int32_t alphabet) {
                new (self) Strings(strings(letters, offsets, alphabet));
            },
            "letters"_a.noconvert(), "offsets"_a.noconvert(), "alphabet"_a);
    nb::class_<Bags>(m, "Bags").def(
        "__init__",
        [](Bags* self, Keys keys, Array<double> values, Positions indptr, std::int32_t alphabet, Index length) {
            new (self) Bags(bags(keys, values, indptr, alphabet, length));
        },
        "keys"_a.noconvert(), "values"_a.noconvert(), "indptr"_a.noconvert(), "alphabet"_a, "length"_a);
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
    m.def("fits_differences", &mercer::fits_differences, "alphabet"_a, "length"_a);
    bind_comparisons<float>(m, "difference_pairs_f32", "string_pairs_f32");
    bind_comparisons<double>(m, "difference_pairs_f64", "string_pairs_f64");
}
