// Kernels of two sequences found by going through both, pair by pair: matches at equal or shifted places, common
// subsequences with gaps, and local alignments.
#pragma once

#include "kernels/object_pairs.hpp"
#include "strings/sequences.hpp"

#include <memory>
#include <vector>

namespace mercer {

// Sum over k = 1 .. degree of weight[k - 1] times the number of places where both have the same k letters; and, for
// s = 1 .. shift, the same with either one moved by s places, divided by 2 (s + 1).
// Raetsch, Sonnenburg (2004); Raetsch, Sonnenburg, Schoelkopf (2005).
struct WeightedDegree {
    std::vector<double> weight;
    Index shift = 0;
};

// Sum over all words u of `length` letters, and all ways to find u in both as a subsequence, of decay^(the letters
// spanned in x plus those in z). Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins (2002).
struct Subsequence {
    Index length = 1;
    double decay = 1;
};

// ln(1 + sum over local alignments of exp(beta score)) / beta. The first gapped letter costs `open`, each further one
// `extend`; two letters score score[a * (alphabet + 1) + b], the last row and column being for letters that match
// nothing. Saigo, Vert, Ueda, Akutsu (2004).
struct LocalAlignment {
    std::vector<double> score;
    double open = 0, extend = 0, beta = 1;
};

// The sequences' memory must outlive the result.
template <class T, class Rule>
std::unique_ptr<ObjectPairs<T>> bind_each(const Sequences& x, const Sequences& z, const Rule& rule);

} // namespace mercer
