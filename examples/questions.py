"""Tells what a question asks for by the fragments its parse tree shares with others (TREC, or a small grammar here)."""

import gzip
import os
from pathlib import Path

import numpy as np

from mercer import SVC
from mercer.kernels import PartialTree, SubsetTree


def trec(part: str, most: int):
    with gzip.open(folder / f"trees_trec_{part}.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][:most]
    return [row[2] for row in rows], np.array([row[0] for row in rows])


def made_up(count: int, seed: int):
    """Who, where and when, each with a verb and an object."""
    rng = np.random.default_rng(seed)
    kinds = {"HUM": "(WP who)", "LOC": "(WRB where)", "NUM": "(WRB when)"}
    y = rng.choice(list(kinds), count)
    verbs, nouns = (rng.choice(words, count) for words in (["wrote", "saw", "built"], ["it", "this", "Rome"]))
    trees = [f"(S {kinds[k]} (VP (V {v}) (NP (N {n}))))" for k, v, n in zip(y, verbs, nouns, strict=True)]
    return trees, y


folder = Path(os.environ.get("MERCER_DATA", ""))
real = (folder / "trees_trec_train.tsv.gz").is_file()
trees, y = trec("train", 600) if real else made_up(100, seed=0)
new, truth = trec("test", 200) if real else made_up(50, seed=1)

print("a tree  ", trees[0])
for kernel in (SubsetTree(0.4).normalized(), PartialTree(0.4, 0.4).normalized()):
    machine = SVC(C=10, kernel=kernel).fit(trees, y)
    right = 100 * machine.score(new, truth)
    print(f"accuracy {right:.1f} %  {kernel}, {len(trees)} trees to learn from, {len(new)} new ones")
