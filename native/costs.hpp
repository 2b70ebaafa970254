// The model of costs of the core: what its parts are expected to take. The numbers decide what is kept, gathered or
// computed again, and never what comes out. All are nanoseconds on one thread, in single precision (double takes twice
// as long); "seen" is what `python -m benchmarks.costs` measured on Zen 5 (AVX-512, one core, beside other work). The
// numbers themselves were chosen with whole fits in view on Zen 3, Zen 4 and Ice Lake, which are slower: choices go by
// their quotients.
#pragma once

namespace mercer::costs {

// -- an entry of the matrix --------------------------------------------------------------------------------------

// For each coordinate: of products and squared distances (seen: 0.008), and of reductions that are none, such as L1 or
// chi2 (seen: L1 0.013).
inline constexpr double kProduct = 0.021, kNoProduct = 0.084;
// For each byte of a coordinate that is an integer (seen: 0.002).
inline constexpr double kInteger = 0.006;
// For the steps and whatever else does not depend on the width (seen: 0.45).
inline constexpr double kEntry = 0.7;
// Coordinates that a stored value of a sparse sample counts for. Seen, of 40 stored values: 2.4 ns an entry, as much as
// 6 coordinates each with AVX-512; more where the instructions are narrower.
inline constexpr double kPerValue = 30;
// Of a matrix that is there already (seen, beside its conversion: 0.6), and of a function in Python.
inline constexpr double kStored = 0.3, kPython = 100;

// For an instruction of a program over parts, beside the parts themselves. Not measured apart.
inline constexpr double kInstruction = 0.05;
// Of a comparison of two objects, such as strings, roughly. Not measured apart.
inline constexpr double kObjects = 1000;

// -- sparse samples, by lists or by panels (sparse.cpp) ------------------------------------------------------------

// To meet a common coordinate in the lists, to finish an entry, and to add up a coordinate of an entry in dense panels.
// Not measured apart.
inline constexpr double kMeet = 1.0, kFinish = 0.5, kPanelled = 0.012;

// -- words that may differ in letters, by a tree or by sets of places (native/strings) -------------------------------

// To take a word to a node of the tree; for a set of places, to put a word into the table, to look one up, and to add
// the count of a word that both have. Not measured apart.
inline constexpr double kWordStep = 1.5, kWordPrepared = 4.0, kWordLookUp = 4.0, kWordMet = 0.7;

// -- what to do with an entry ------------------------------------------------------------------------------------

// To keep it, most of it the first touch of its memory: 3.0 to 3.6 with pages of 4 KB on Zen 3, 0.8 to 1.6 with huge
// ones, which not every system gives (seen: 7, with small ones). A row is kept once it has cost as much to compute as
// to keep: so no more than twice is spent on it of what was best (renting skis or buying them).
inline constexpr double kKeep = 3.4;
// To read it from a row that is kept. Cheaper ones are not kept. Not measured apart.
inline constexpr double kRead = 0.5;
// To pick it out of a row that is kept, a line of memory for every entry (seen, in the caches: 3). Of dearer ones only
// those are computed that are in no row.
inline constexpr double kGather = 12;

// -- what follows for whole rows ---------------------------------------------------------------------------------

// Entries this dear, as those of 157 coordinates, are kept however few rows fit, and no active sets are formed: at 784
// coordinates these cost 15 to 40 % more than they save.
inline constexpr double kDear = 4;
// For entries this cheap, of up to 38 coordinates, active sets do more than rows that are kept: at 16 they save a sixth
// of 100,000 rows' time and a quarter of 200,000's.
inline constexpr double kCheap = 1.5;

} // namespace mercer::costs
