// The model of costs: what the core expects its parts to take. Every number is nanoseconds on one thread, measured on
// the processor that is named; they decide what is kept, gathered or computed again, and never what comes out.
#pragma once

namespace mercer::costs {

// -- an entry of the matrix, in single precision; double takes twice as long -----------------------------------------

// For each coordinate: of products and squared distances, and of reductions that are none, such as L1 or chi2 (tiles of
// 12 by 32, 2 threads, AVX-512; Zen 4).
inline constexpr double kProduct = 0.021, kNoProduct = 0.084;
// For each byte of a coordinate that is an integer (Zen 4).
inline constexpr double kInteger = 0.006;
// The steps and whatever else does not depend on the width: an exponential and the way to memory (Zen 4).
inline constexpr double kEntry = 0.7;
// Coordinates that a stored value of a sparse sample counts for (a9a and sector, Zen 4).
inline constexpr double kPerValue = 30;
// Of a matrix that is there already, and of a function in Python.
inline constexpr double kStored = 0.3, kPython = 100;

// -- what to do with an entry ---------------------------------------------------------------------------------------

// To keep it, most of it the first touch of its memory: 3.0 to 3.6 with pages of 4 KB, 0.8 to 1.6 with huge ones, which
// not every system gives (Zen 3, Zen 4). A row is kept once it has cost as much to compute as to keep: so no more than
// twice is spent on it of what was best (renting skis or buying them).
inline constexpr double kKeep = 3.4;
// To read it from a row that is kept (Zen 3). Cheaper ones are not kept.
inline constexpr double kRead = 0.5;
// To pick it out of a row that is kept, a line of memory for every entry (Ice Lake). Of dearer ones only those are
// computed that are in no row.
inline constexpr double kGather = 12;

// -- what to make of the costs --------------------------------------------------------------------------------------

// Entries this dear are kept however few fit, and no active sets are formed (Ice Lake: rows of 784 coordinates).
inline constexpr double kDear = 4;
// For entries this cheap active sets do more than rows that are kept (200,000 rows of 16 and of 50 columns, Zen 3).
inline constexpr double kCheap = 1.5;

} // namespace mercer::costs
