"""The model of costs on the Python side: every number by which a choice is made between two ways to the same result.

Limits of memory and tolerances stand where they are used, and the numbers of the core in ``native``. Each has its unit
and how it was found: "seen" is what ``benchmarks/costs.py`` measured on one core of an AMD EPYC with AVX-512, beside
other work; "not measured apart" means that it was chosen with whole fits and predictions in view.
"""

from mercer._native import Reduction

# -- predictions by another form of the function: ``mercer.kernels.collapse`` -------------------------------------

#: Nanoseconds to make any of the forms. Not measured apart.
FORM = 1e5
#: Nanoseconds of one thread for a coordinate of a pair of samples in float64, by the engine; half of it in float32.
#: Seen: 0.021, 0.023, 0.097 and 1.7, about a third each: choices go by the quotients, which are the same.
REDUCTION = {Reduction.dot: 0.05, Reduction.intersection: 0.07, Reduction.chi2: 0.28, Reduction.jensen_shannon: 5.5}
#: Nanoseconds for what a pair costs besides, and for each of its outputs. These and those below: not measured apart.
PAIR_END, PAIR_OUTPUT = 1.0, 0.5
#: Nanoseconds for an entry of a row that looks up its piece, and for each value read from it.
LOOK_UP, LOOK_UP_VALUE = 8.0, 2.0
#: Nanoseconds to sort an entry of the samples among the knots, and to add each of its outputs.
SORT, SORT_OUTPUT = 90.0, 15.0
#: Nanoseconds for a product in w.phi(x), and for a feature that must be computed first.
MULTIPLY, FEATURE = 0.3, 10.0
#: Nanoseconds for a node of a table, most of it in the Fourier transforms, and for an entry of the samples put into it.
NODE, BIN = 60.0, 150.0

# -- products with the matrix -------------------------------------------------------------------------------------

#: Rows below which a product is so short that float32 gains nothing.
#: Seen: of 2,000 rows and 20 columns 3.0 ms in float64 and 1.6 in float32, of 1,000 0.8 and 0.5.
SINGLE_ROWS = 2000

# -- Newton's method: ``mercer.solvers.newton`` -------------------------------------------------------------------

#: Rows times outputs up to which the preconditioner is made of all samples, and so exact: its factor of n^3 / 3
#: operations is to cost less than the products that it saves.
NEWTON_ALL = 2000
#: Beyond, the landmarks of its preconditioner, divided by the outputs, and the fewest of them. Seen: an easy fit
#: (C = 1, 20 columns) of 3,000 rows takes 0.44 s with 800 and 0.13 with 200, of 6,000 1.3 and 0.45; 800 is for matrices
#: whose eigenvalues fall slowly beside C, of which nothing was seen.
NEWTON_LANDMARKS, NEWTON_FEWEST = 800, 40
#: Samples of the steepest gradients among which import vectors are chosen in a round: their quadratic model takes
#: 500^2 n operations, about as many as the products of a few Newton steps. Not measured apart.
GAIN_POOL = 500

# -- gradient steps: ``mercer.solvers.lms`` -----------------------------------------------------------------------

#: Landmarks of the preconditioner as a multiple of the root of the number of rows: to make it, 100 n^2 operations,
#: then costs as much as a few products with K. Seen: 4,000 rows 0.21 s without any, 0.22 with 5, 0.23 with 10, 0.42
#: with 20 times the root (alpha = 0.1, tol = 1e-3: few passes).
LANDMARKS_PER_ROOT = 10
#: Rows below which a preconditioner does not pay. Seen, with few passes: 2,000 rows 34 ms without and 63 with it.
PRECONDITIONED_ROWS = 2000

# -- eigenpairs: ``mercer.solvers.eigen`` -------------------------------------------------------------------------

#: Samples up to which the matrix is stored and decomposed as a whole by LAPACK ... Seen, of 5 components: 300 samples
#: 4 ms as a whole and 11 by blocks, 500 8 and 13, 1,000 46 and 22.
EIGEN_DENSE_SAMPLES = 500
#: ... and where more than one in this many of its eigenvectors are wanted. LAPACK then finds all; fewer, by themselves.
#: Not measured apart.
EIGEN_DENSE_SHARE = 5
#: The least width of a block of vectors, where the multiplications cost about as much as the entries they meet, and
#: the least number of its vectors beyond those that are wanted. Seen, of 4,000 samples: 80 ms of 16, 89 of 32, 158 of
#: 64 vectors.
BLOCK_WIDTH, BLOCK_GUARDS = 32, 6
#: Samples from which the block starts, or this many for each of its vectors if that is more; ... Not measured apart.
EIGEN_LANDMARKS, LANDMARKS_PER_VECTOR = 2000, 4
#: ... but at most one in this many of all samples: if that is too few, it starts at random.
EIGEN_LANDMARK_SHARE = 4
#: Columns of data below which rows are compared again in every pass in less time than it takes to touch new memory.
#: Not measured apart.
KEPT_WIDTH = 64

# -- linear machines: ``mercer.solvers.linear`` -------------------------------------------------------------------

#: Columns from which the dual is faster, as Newton's method on the primal factors a matrix of their number. Seen, of
#: 3,000 rows: 500 columns 65 ms in the primal and 41 in the dual, 1,000 194 and 136, 2,000 149 and 225: where it
#: changes hands depends on the problem.
LINEAR_COLUMNS = 1500

# -- perceptrons: ``mercer.solvers.perceptron`` -------------------------------------------------------------------

#: Bytes of a block of kernel values, which a pass computes for examples to come ...
EXAMPLE_BYTES = 16 * 2**20
#: ... and the fewest and the most examples in it: all are compared with each other, whether they are mistakes or not.
#: Not measured apart.
FEWEST_EXAMPLES, MOST_EXAMPLES = 64, 1024

# -- LAPACK: ``mercer.solvers.lapack`` ----------------------------------------------------------------------------

#: Rows of a matrix below which a call is done within a tenth of a second, and made without a thread of its own.
#: Seen: all eigenvectors of 500 rows 27 ms.
SHORT_ROWS = 500

# -- penalties of kernel ridge regression: ``mercer.selection.ridge_path`` ----------------------------------------

#: Cholesky factors that take as long as all eigenvectors of the same matrix.
#: Seen: 20 of 500 rows, 10 of 1,000, 13 of 2,000, 22 of 4,000 on two threads.
EIGENVECTORS = 15
