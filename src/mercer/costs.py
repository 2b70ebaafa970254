"""The model of costs on the Python side: every number by which a choice is made between two ways to the same result.

Limits of memory and tolerances stand where they are used, and the numbers of the core in ``native``. Each has its unit,
and how it was found: "measured" means with ``benchmarks/costs.py``, which says on what machine it ran; "chosen" means
that times change little around it.
"""

from mercer._native import Pair

# -- predictions by another form of the function: ``mercer.kernels.collapse`` -------------------------------------

#: Nanoseconds to make any of the forms.
FORM = 1e5
#: Nanoseconds of one thread for a coordinate of a pair of samples in float64, by the engine; half of it in float32.
PAIR = {Pair.dot: 0.05, Pair.intersection: 0.07, Pair.chi2: 0.28, Pair.jensen_shannon: 5.5}
#: Nanoseconds for what a pair costs besides, and for each of its outputs.
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

#: Rows below which a product takes less than a millisecond, so that float32 gains nothing.
SINGLE_ROWS = 2000

# -- Newton's method: ``mercer.solvers.newton`` -------------------------------------------------------------------

#: Rows times outputs up to which the preconditioner is made of all samples, and so exact: its factor of n^3 / 3
#: operations then costs less than the products that it saves.
NEWTON_ALL = 2000
#: Beyond, the landmarks of its preconditioner, divided by the outputs, and the fewest of them.
NEWTON_LANDMARKS, NEWTON_FEWEST = 800, 40
#: Samples of the steepest gradients among which import vectors are chosen in a round: their quadratic model takes
#: 500^2 n operations, about as many as the products of a few Newton steps.
GAIN_POOL = 500

# -- gradient steps: ``mercer.solvers.lms`` -----------------------------------------------------------------------

#: Landmarks of the preconditioner as a multiple of the root of the number of rows: to make it, 100 n^2 operations,
#: then costs as much as a few products with K.
LANDMARKS_PER_ROOT = 10
#: Rows below which a preconditioner does not pay.
PRECONDITIONED_ROWS = 2000

# -- eigenpairs: ``mercer.solvers.eigen`` -------------------------------------------------------------------------

#: Samples up to which the matrix is stored and decomposed as a whole by LAPACK ...
EIGEN_DENSE_SAMPLES = 500
#: ... and where more than one in this many of its eigenvectors are wanted. LAPACK then finds all; fewer, by themselves.
EIGEN_DENSE_SHARE = 5
#: The least width of a block of vectors, where the multiplications cost about as much as the entries they meet, and
#: the least number of its vectors beyond those that are wanted.
BLOCK_WIDTH, BLOCK_GUARDS = 32, 6
#: Samples from which the block starts, or this many for each of its vectors if that is more; ...
EIGEN_LANDMARKS, LANDMARKS_PER_VECTOR = 2000, 4
#: ... but at most one in this many of all samples: if that is too few, it starts at random.
EIGEN_LANDMARK_SHARE = 4
#: Columns of data below which rows are compared again in every pass in less time than it takes to touch new memory.
KEPT_WIDTH = 64

# -- linear machines: ``mercer.solvers.linear`` -------------------------------------------------------------------

#: Columns from which the dual is faster, as Newton's method on the primal factors a matrix of their number.
LINEAR_COLUMNS = 1500

# -- perceptrons: ``mercer.solvers.perceptron`` -------------------------------------------------------------------

#: Bytes of a block of kernel values, which a pass computes for examples to come ...
EXAMPLE_BYTES = 16 * 2**20
#: ... and the fewest and the most examples in it: all are compared with each other, whether they are mistakes or not.
FEWEST_EXAMPLES, MOST_EXAMPLES = 64, 1024

# -- LAPACK: ``mercer.solvers.lapack`` ----------------------------------------------------------------------------

#: Rows of a matrix below which a call is done within a tenth of a second, and made without a thread of its own.
SHORT_ROWS = 500
