// The geometric random walk kernel: k(G, G') = sum over lengths l of decay^l times the number of pairs of walks of
// length l with equal labels (Gaertner, Flach and Wrobel 2003; Vishwanathan et al. 2010).
#pragma once

#include "graphs/graphs.hpp"
#include "kernels/object_pairs.hpp"

#include <memory>

namespace mercer {

// Labels of x and z are numbered alike. The graphs' memory must outlive the result. Throws std::domain_error where the
// sum is infinite.
std::unique_ptr<ObjectPairs<double>> random_walk(const Graphs& x, const Graphs& z, double decay);

} // namespace mercer
