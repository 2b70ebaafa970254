// One function per noun; module.cpp calls them. Only this folder knows Python.
#pragma once

#include <nanobind/nanobind.h>

// The exception that led to Interrupted, kept until it is raised where the work ends: the core may go on for a while,
// to certify what it has, and must not do so with an exception set.
void keep_interrupt(nanobind::object exception);
nanobind::object take_interrupt();

void bind_threads(nanobind::module_& m);
void bind_deadline(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_gram(nanobind::module_& m);
void bind_composition(nanobind::module_& m);
void bind_solvers(nanobind::module_& m);
void bind_linear(nanobind::module_& m);
void bind_perceptron(nanobind::module_& m);
void bind_neighbors(nanobind::module_& m);
void bind_expansion(nanobind::module_& m);
void bind_strings(nanobind::module_& m);
void bind_objects(nanobind::module_& m);
void bind_graphs(nanobind::module_& m);
void bind_trees(nanobind::module_& m);
