"""What is particular to kernels of sequences: alphabets, features, the choice of algorithm, parameters, scores."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import SVC, Expansion
from mercer.kernels import (
    Custom,
    FeaturesError,
    GappedKmer,
    LocalAlignment,
    Mismatch,
    Segment,
    SetKernel,
    Spectrum,
    Subsequence,
    WeightedDegree,
    differences,
    exp,
    repair,
)
from mercer.kernels.algebra import Product
from mercer.kernels.alignments import BLOSUM62, BLOSUM_LETTERS
from mercer.kernels.differences import DifferenceKernel
from mercer.kernels.maps import Map
from mercer.kernels.native import FeaturePairs

from . import naive_strings


class EachAlone(Map):
    """Every sequence as a set of one."""

    def samples(self, X):
        return Spectrum(1).samples(X)

    def __call__(self, X):
        return [[text] for text in X.content()]


RNG = np.random.default_rng(3)
X = ["".join(RNG.choice(list("ACGTN"), 40, p=[0.24] * 4 + [0.04])) for _ in range(60)]
Z = [x[:20] + "".join(RNG.choice(list("ACGT"), 15)) for x in X[:25]]
PROTEINS = ["".join(RNG.choice(list(BLOSUM_LETTERS + "XB"), RNG.integers(5, 40))) for _ in range(20)]


@pytest.mark.parametrize("strands", [False, True])
@pytest.mark.parametrize(("k", "m"), [(5, 1), (4, 2), (6, 0)])
def test_comparing_words_and_counting_them_give_the_same(monkeypatch, k, m, strands):
    kernel = Mismatch(k, m, alphabet="dna", reverse_complement=strands)
    counted, counted_x = kernel(X, Z), kernel(X)
    assert isinstance(kernel.bind(*kernel.both(X, Z)), FeaturePairs)
    monkeypatch.setattr(differences, "FEATURE_BYTES", 0)
    assert not isinstance(kernel.bind(*kernel.both(X, Z)), FeaturePairs)
    assert (kernel(X, Z) == counted).all()
    assert (kernel(X) == counted_x).all()
    assert (kernel.diag(X) == np.diag(counted_x)).all()


def test_differing_words_of_many_letters():
    np.testing.assert_array_equal(
        DifferenceKernel.compared(Mismatch(3, 1, alphabet="protein"), *_proteins()).dense(), _slow(3, 1)
    )


def _proteins():
    x = Spectrum(1).samples(PROTEINS)
    return x, x


def _slow(k, m):
    """Σ over pairs of words of the number of words near both, which was counted above for four letters."""
    weights = Mismatch(k, m).weights(20)
    words = [naive_strings.windows(x, k) for x in PROTEINS]
    words = [[w for w in some if not set(w) & set("XB")] for some in words]
    return np.array(
        [
            [sum(dict(enumerate(weights)).get(naive_strings.differences(u, v), 0) for u in a for v in b) for b in words]
            for a in words
        ]
    )


def test_weights_of_differences():
    assert Mismatch(3, 1).weights(4) == [10, 4, 2]
    assert GappedKmer(10, 6).weights(4) == [210, 84, 28, 7, 1]


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(4, min_k=2, alphabet="dna"),
        Spectrum(4, alphabet="dna", reverse_complement=True),
        Mismatch(4, 1, alphabet="dna"),
        GappedKmer(5, 3, alphabet="dna", reverse_complement=True),
        (2 * Spectrum(2, alphabet="dna") + Spectrum(3, alphabet="dna").on(Segment(5, 20))).normalized(),
    ],
    ids=repr,
)
def test_features_are_sparse_and_the_same_in_every_call(kernel):
    F, G = kernel.features(X), kernel.features(Z)
    assert sp.issparse(F)
    assert F.shape[1] == G.shape[1]
    np.testing.assert_allclose((F @ G.T).toarray(), kernel(X, Z), rtol=1e-12, atol=1e-12)
    if not isinstance(kernel, GappedKmer):  # whose features are many
        assert type(kernel.bind(*kernel.both(X))) is FeaturePairs  # sums, scales and norms are one product
    assert kernel.features(["", "A"]).shape == (2, F.shape[1])


WITHOUT_ALPHABET = [
    Spectrum(3),
    Spectrum(3, min_k=1, presence=True),
    Spectrum(20, min_k=2),
    Spectrum(40),
    GappedKmer(4, 2),
    GappedKmer(3, 3),
    Spectrum(2).normalized() * GappedKmer(3, 2),
    (2 * Spectrum(2) + Spectrum(3).on(Segment(5, 20))).normalized(),
    SetKernel(Spectrum(2), "sum").on(EachAlone()),
]


@pytest.mark.parametrize("kernel", WITHOUT_ALPHABET, ids=repr)
def test_without_an_alphabet_words_are_numbered_by_samples_or_not_at_all(kernel):
    """The width was that of all words over 256 letters, and tokens had no features at all."""
    texts = [*X[:12], X[0] * 2, ""]
    new = [*Z[:9], "GATTXACA" * 6, "", "A"]
    for x, z in ((texts, new), ([list(text) for text in texts], [list(text) for text in new])):
        with pytest.raises(FeaturesError, match=r"give an alphabet.*or number the words.*k\.in_columns_of\(X\)"):
            kernel.features(x)
        known = kernel.in_columns_of(x)
        F, G = known.features(x), known.features(z)
        assert F.shape[1] == G.shape[1] < 20_000
        if not isinstance(kernel, Product):
            assert (abs(F).sum(axis=0) > 0).all()  # every column is of a word that a sample has
        np.testing.assert_allclose((F @ F.T).toarray(), kernel(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose((G @ F.T).toarray(), kernel(z, x), rtol=1e-12, atol=1e-12)
        assert (known(x, z) == kernel(x, z)).all()
        assert known.in_columns_of(z) == known
        again = pickle.loads(pickle.dumps(known))
        assert again == known
        assert (again.features(z) != G).nnz == 0


def test_many_sequences_with_themselves():
    """More rows than one panel of the engine: what is copied across the diagonal is what would be computed."""
    many = ["".join(RNG.choice(list("abcdefgh"), 12)) for _ in range(1100)]
    k = Spectrum(3, min_k=2).normalized()
    assert (k(many) == k(many, list(many))).all()


@pytest.mark.parametrize(
    "kernel",
    [(2 * Spectrum(3) + Spectrum(2).on(Segment(5, 20))).normalized(), Mismatch(4, 1, alphabet="dna")],
    ids=repr,
)
def test_sums_over_samples_are_sums_over_features(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    many = ["".join(rng.choice(list("ACGT"), 25)) for _ in range(1500)]
    V, starts = rng.standard_normal((len(many), 3)), np.array([0, 400, 400, 900])
    f = Expansion.of(kernel, many, V)
    K = kernel(X, many)
    ends = [*starts[1:], len(many)]
    expected = np.stack([K[:, a:b] @ V[a:b] for a, b in zip(starts, ends, strict=True)], axis=1)
    np.testing.assert_allclose(f.by_segment(X, starts), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(f.by_segment(X[:1], starts), expected[:1], rtol=1e-12, atol=1e-9)
    assert [form is not None for form in f._forms.values()] == [True]  # found once, for all calls
    monkeypatch.setattr("mercer.kernels.differences.FEATURE_BYTES", 0)  # new sequences may be too many to be counted
    np.testing.assert_allclose(f.by_segment(X, starts), expected, rtol=1e-12, atol=1e-9)


def test_features_that_cannot_be_are_refused():
    with pytest.raises(FeaturesError, match="give an alphabet"):
        Spectrum(1).features([["to", "be"]])
    with pytest.raises(FeaturesError, match="would have 25600000000 columns"):
        Spectrum(8, alphabet="protein").features(PROTEINS)
    with pytest.raises(FeaturesError, match="would have 10240000000 columns, one per possible word"):
        GappedKmer(8, 7, alphabet="protein").features(PROTEINS)
    with pytest.raises(FeaturesError, match="give an alphabet"):
        Mismatch(2, 1).features(X)  # its values depend on the number of letters
    assert Spectrum(1, alphabet=("be", "to")).features([["to", "be", "not", "to"]]).toarray().tolist() == [[1, 2]]


def test_alphabets():
    assert Spectrum(3, alphabet="dna")(["gaT"], ["GAU"]) == 1
    assert Spectrum(2, alphabet="dna")(["GANT"], ["GANT"]) == 1  # words with an N are left out
    assert Spectrum(2)(["GANT"], ["GANT"]) == 3
    assert Spectrum(2, alphabet="protein")(["MKXV"], ["mkxv"]) == 1
    assert Spectrum(3, alphabet="dna", reverse_complement=True)(["GAT"], ["ATC"]) == 2  # both strands of both
    assert WeightedDegree(1, alphabet="dna")(["GANT"], ["GANT"]) == 3
    assert Subsequence(1, 1.0, alphabet="dna")(["NN"], ["NN"]) == 0
    assert Mismatch(2, 1, alphabet="AB")(["AA"]) == 3
    assert Mismatch(2, 1).resolve(["AB", "BC"]) == Mismatch(2, 1, alphabet=("A", "B", "C"))


ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": BLOSUM_LETTERS}
WITH_ALPHABETS = [
    lambda alphabet: Spectrum(2, alphabet=alphabet),
    lambda alphabet: Mismatch(3, 1, alphabet=alphabet),
    lambda alphabet: GappedKmer(3, 2, alphabet=alphabet),
    lambda alphabet: WeightedDegree(2, alphabet=alphabet),
    lambda alphabet: Subsequence(2, 0.5, alphabet=alphabet),
    lambda alphabet: LocalAlignment((1, -1), open=2, extend=1, alphabet=alphabet),
]


@pytest.mark.parametrize("make", WITH_ALPHABETS, ids=lambda make: repr(make("dna")))
@pytest.mark.parametrize("name", ALPHABETS)
def test_names_of_alphabets_are_read_in_any_case(make, name):
    texts = ["".join(RNG.choice(list(ALPHABETS[name]), 12)) for _ in range(6)]
    kernel, letters = make(name), make(ALPHABETS[name])
    assert (kernel.diag(texts) > 0).all()
    np.testing.assert_allclose(kernel(texts), letters(texts), rtol=1e-12)
    for other in name.upper(), name.title():
        assert make(other) == kernel
        assert repr(make(other)) == repr(kernel)
    np.testing.assert_allclose(kernel([text.lower() for text in texts], texts), kernel(texts), rtol=1e-12)


@pytest.mark.parametrize("make", WITH_ALPHABETS, ids=lambda make: repr(make("dna")))
def test_dna_and_rna_are_the_same_letters(make):
    texts = ["".join(RNG.choice(list("ACGT"), 12)) for _ in range(6)]
    copied = [text.replace("T", "U") for text in texts]
    expected = make("dna")(texts)
    for name in "dna", "rna":
        for X, Z in (texts, texts), (copied, texts), (copied, copied):
            np.testing.assert_array_equal(make(name)(X, Z), make(name)(texts, texts))
        np.testing.assert_allclose(make(name)(texts), expected, rtol=1e-12)
    assert make("dna") != make("rna")  # they write words differently


@pytest.mark.parametrize(
    "make",
    [
        lambda alphabet: Spectrum(3, alphabet=alphabet, reverse_complement=True),
        lambda alphabet: Mismatch(3, 1, alphabet=alphabet, reverse_complement=True),
        lambda alphabet: GappedKmer(4, 2, alphabet=alphabet, reverse_complement=True),
    ],
    ids=lambda make: repr(make("dna")),
)
def test_both_strands_of_rna(make):
    texts = ["".join(RNG.choice(list("ACGU"), 15)) for _ in range(6)]
    opposite = ["".join(dict(zip("ACGU", "UGCA", strict=True))[c] for c in reversed(text)) for text in texts]
    kernel = make("RNA")
    np.testing.assert_array_equal(kernel(texts), make("dna")([text.replace("U", "T") for text in texts]))
    np.testing.assert_array_equal(kernel(opposite, texts), kernel(texts))


def test_an_alphabet_of_the_letters_of_a_name_is_a_tuple():
    assert Spectrum(1, alphabet=tuple("DNA"))(["DANA"]) == 1 + 4 + 1
    assert Spectrum(1, alphabet="DNA")(["DANA"]) == 4


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(3, min_k=2),
        GappedKmer(4, 2),
        GappedKmer(3, 2).normalized(),
        Subsequence(2, 0.5),
        WeightedDegree(3, 1),
        LocalAlignment((1, -1), open=2, extend=1),
    ],
    ids=repr,
)
def test_a_value_does_not_depend_on_what_else_is_compared(kernel):
    """Without an alphabet, letters that one side alone has are letters too."""
    texts = ["ACGZ", "ACGTN", "TTTACGT", "NNNN", "ACYGTACGY", "éCGTAC", *X[:4]]
    for some in texts, [list(text) for text in texts]:
        K = kernel(some)
        np.testing.assert_allclose(kernel(some[:4], some[4:]), K[:4, 4:], rtol=1e-12)
        np.testing.assert_allclose(kernel(some[4:], some[:4]), K[4:, :4], rtol=1e-12)
        np.testing.assert_allclose([[kernel([x], [z])[0, 0] for z in some] for x in some], K, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Mismatch(3, 1).normalized(),
        (Mismatch(2, 1) + 0.5 * Mismatch(3, 1).on(Segment(0, 9))).normalized(),
        exp(Mismatch(3, 1).normalized()).normalized(),
    ],
    ids=repr,
)
def test_letters_of_values_and_norms_are_the_same(kernel):
    """The letters of a mismatch kernel that has no alphabet are those of both sides."""
    x, z = ["AACA", "ACCAC"], ["AACA", "GGTT", "TGAC"]
    K = kernel(x, z)
    assert K[0, 0] == pytest.approx(1)
    np.testing.assert_allclose(K, kernel(x + z)[:2, 2:], rtol=1e-12)
    np.testing.assert_allclose(kernel(z, x), K.T, rtol=1e-12)
    np.testing.assert_allclose(kernel.resolve(x + z)(x, z), K, rtol=1e-12)
    frame = pd.DataFrame({"dna": x}), pd.DataFrame({"dna": z})
    np.testing.assert_allclose(kernel.on("dna").normalized()(*frame), K, rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2),
        Spectrum(2, alphabet="dna"),
        Mismatch(3, 1),
        Mismatch(3, 1, alphabet="dna"),
        GappedKmer(4, 2),
        GappedKmer(4, 2, alphabet="dna", reverse_complement=True),
        Subsequence(2, 0.5),
        WeightedDegree(3, shift=1),
        LocalAlignment((2, -2), open=4, extend=1),
        Spectrum(1).on(Segment(0, 3)),
    ],
    ids=repr,
)
def test_empty_sequences_equal_nothing(kernel):
    for k in (kernel, kernel.normalized()):
        for empty in ("", []):
            assert (k([empty, empty]) == 0).all()
            assert (k.diag([empty]) == 0).all()
            for x in ("ACGTACGT", "naïve ☕ 日本語", "A"):
                some = x if empty == "" else list(x)
                assert k([empty], [some]) == k([some], [empty]) == 0
                K = k([empty, some])
                np.testing.assert_allclose(K[1, 1], k.diag([some])[0])
                assert (K[0] == 0).all()


def test_a_machine_meets_new_letters():
    known, y, new = ["ACGT", "ACGA", "TTTT", "TTTA"], [0, 0, 1, 1], ["ACGN", "TTTN", "NNNN", "NMNA"]
    k = GappedKmer(4, 2)
    given = SVC(kernel="precomputed").fit(k(known), y)
    expected = given.decision_function(k(new + known)[:4, 4:])
    assert (np.sign(expected[:2]) == [-1, 1]).all()
    np.testing.assert_allclose(SVC(kernel=k).fit(known, y).decision_function(new), expected, rtol=1e-6)


def test_new_tokens_may_be_many():
    tokens = [[str(i) for i in range(200)], ["new", "1", "2"], ["newer", "2", "3"]]
    np.testing.assert_array_equal(GappedKmer(3, 2)(tokens[1:], tokens[:1]), [[1], [1]])
    many = [[f"{i} of another text" for i in range(1000)]]
    assert GappedKmer(3, 2)(many, tokens).sum() == 0


def test_whoever_comes_first_in_a_sum():
    length = Custom(lambda a, b: float(len(a) * len(b)), pairwise=True)
    expected = Spectrum(2)(X) + Spectrum(3)([x[:9] for x in X])
    np.testing.assert_array_equal((Spectrum(3).on(Segment(0, 9)) + Spectrum(2))(X), expected)
    expected = Spectrum(2)(X) + np.outer(*2 * [[len(x) for x in X]])
    np.testing.assert_array_equal((length + Spectrum(2))(X), expected)
    np.testing.assert_array_equal((Spectrum(2) + length)(X), expected)
    for kernel in (Spectrum(2), GappedKmer(3, 2), Subsequence(2, 0.5), WeightedDegree(2), Mismatch(3, 1)):
        assert (kernel(["", "x"]) == 0).sum() >= 3  # nothing to compare
        assert kernel(X[:3], [""]).tolist() == [[0], [0], [0]]


def test_words_longer_than_their_keys():
    words = ["".join(RNG.choice(list("abcdefghijklmnopqrstuvwxyz"), 60)) for _ in range(20)]
    long = [words[0], words[0][5:] + "xyz", *words[1:]]
    np.testing.assert_array_equal(Spectrum(50)(long), naive_strings.spectrum(50)(long, long))


def test_blosum62_is_what_it_says():
    table = np.zeros((20, 20), int)
    for i, row in enumerate(BLOSUM62):
        assert len(row) == i + 1
        table[i, : i + 1] = row
    assert np.trace(table) == 116
    assert table.sum() + np.tril(table, -1).sum() == -426
    # The diagonal is the largest of its row, and the well-known pairs are similar.
    whole = np.maximum(table, 0) + np.tril(np.maximum(table, 0), -1).T
    assert (whole.max(axis=1) == np.diag(table)).all()
    place = {c: i for i, c in enumerate(BLOSUM_LETTERS)}
    for pair, score in {"YF": 3, "VI": 3, "KR": 2, "ED": 2, "YH": 2, "WF": 1, "TS": 1, "ML": 2}.items():
        a, b = sorted((place[c] for c in pair), reverse=True)
        assert table[a, b] == score


def test_local_alignment_tends_to_the_best_score():
    k = LocalAlignment(beta=20.0)
    # HEAGAWGHEE against PAWHEAE: AWGHE / AW-HE scores 4 + 11 - 11 + 8 + 5.
    np.testing.assert_allclose(k(["HEAGAWGHEE"], ["PAWHEAE"]), 17, atol=0.2)
    long = ["MKWVTFISLLFLFSSAYS" * 60]
    assert np.isfinite(k(long)).all()
    assert LocalAlignment().validity == "indefinite"


def test_local_alignment_can_be_repaired():
    k = repair(LocalAlignment(), "clip").resolve(PROTEINS)
    assert k.validity == "psd"
    values = np.linalg.eigvalsh(k(PROTEINS))
    assert values[0] > -1e-10 * values[-1]
    np.testing.assert_allclose(k(PROTEINS[:7], PROTEINS), k(PROTEINS)[:7], rtol=1e-9, atol=1e-9 * values[-1])


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Spectrum(0), "k of Spectrum must be at least 1, not 0"),
        (lambda: Spectrum(2, min_k=3), "min_k of Spectrum must be at most k=2, not 3"),
        (lambda: Spectrum(2, alphabet=()), "at least one letter"),
        (lambda: Spectrum(2, alphabet="AAB"), "must differ"),
        (lambda: Spectrum(2, alphabet=("AB", "BC"))(["A"]), "the letter 'B' stands twice"),
        (lambda: Spectrum(2, reverse_complement=True), 'needs alphabet="dna" or "rna"'),
        (lambda: Mismatch(3, 3), "m of Mismatch must be below k=3, not 3"),
        (lambda: GappedKmer(3, 4), "k of GappedKmer must be at most l=3, not 4"),
        (lambda: GappedKmer(30, 2, alphabet="protein")(PROTEINS), "at most 63 bits"),
        (lambda: WeightedDegree(1.5), "must be an integer"),
        (lambda: Subsequence(2, 1.1), "decay of Subsequence must be at most 1"),
        (lambda: LocalAlignment("pam"), 'are "blosum62"'),
        (lambda: LocalAlignment(alphabet="DNA"), 'are "blosum62", with the alphabet "protein"'),
        (lambda: LocalAlignment(beta=0), "beta of LocalAlignment must be a positive"),
    ],
)
def test_wrong_parameters_say_what_is_wrong(make, what):
    with pytest.raises(ValueError, match=what):
        make()
