"""Classifies sequences by the words they share: promoters of E. coli and, with MERCER_DATA, proteins by their place."""

import os
from pathlib import Path

from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC
from mercer.files import read_fasta
from mercer.kernels import GappedKmer, Segment, Spectrum, WeightedDegree
from mercer.validity import check_kernel


def read(path):
    """The sequences of a file, and the classes in its headers."""
    sequences, headers = read_fasta(path)
    return sequences, [header.split("|")[0] for header in headers]


X, y = read(Path(__file__).parent / "data" / "promoters.fasta")
print(f"promoters    {len(X)} sequences of {len(X[0])} bases, such as {X[0][:30]}...")
for kernel in (Spectrum(4), GappedKmer(6, 4), WeightedDegree(5)):
    score = cross_val_score(SVC(C=10, kernel=kernel.normalized()), X, y, cv=10).mean()
    print(f"             {score:.3f} in 10-fold cross-validation   {kernel}")

grid = GridSearchCV(SVC(C=10, kernel=Spectrum(1)), {"kernel__k": [1, 2, 3, 4, 5]}, cv=5).fit(X, y)
print(f"             {grid.best_score_:.3f} in 5-fold cross-validation    {grid.best_estimator_.kernel}, the best k")
machine = SVC(C=10, kernel=WeightedDegree(5).normalized()).fit(X, y)
print("certificate ", machine.certificate_)
print(check_kernel(machine.kernel_, X, y))

file = Path(os.environ.get("MERCER_DATA", "nowhere")) / "protein_multiloc.fasta.gz"
if file.exists():
    X, y = (values[::12] for values in read(file))  # a part, for speed
    words = Spectrum(3, min_k=1, alphabet="protein").normalized()
    for kernel in (words, words + words.on(Segment(0, 60))):  # signals to the cell stand at the beginning
        score = cross_val_score(SVC(C=10, kernel=kernel), X, y, cv=3).mean()
        print(f"proteins     {score:.3f} in 3-fold cross-validation, {len(set(y))} places   {kernel}")
