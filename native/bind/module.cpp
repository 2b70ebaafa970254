#include "bind/bind.hpp"

NB_MODULE(_native, m) {
    bind_threads(m);
    bind_deadline(m);
    bind_memory(m);
    bind_kernels(m);
    bind_gram(m);
    bind_composition(m);
    bind_solvers(m);
    bind_linear(m);
    bind_perceptron(m);
    bind_neighbors(m);
    bind_expansion(m);
    bind_strings(m);
    bind_objects(m);
    bind_graphs(m);
    bind_trees(m);
}
