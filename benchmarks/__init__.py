"""Benchmarks: data x contender, peers in the same run; ``python -m benchmarks`` runs them and writes results/."""
