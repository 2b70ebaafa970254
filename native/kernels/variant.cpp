// The inner loops of the engine, gathered into the table of one instruction set. This file is compiled once per
// instruction set, with the headers that hold the loops: MERCER_ISA names the namespace, MERCER_VECTOR_BYTES the
// register width and MERCER_TILE_ROWS the rows of a tile.
// Only names of that namespace may be defined here and in those headers: a shared inline function could otherwise be
// linked from the widest variant and run on a processor that lacks it.
#include "kernels/distances.hpp"
#include "kernels/integer_tiles.hpp"
#include "kernels/isa.hpp"
#include "kernels/products.hpp"
#include "kernels/reductions.hpp"
#include "kernels/runs.hpp"
#include "kernels/steps.hpp"
#include "kernels/tiles.hpp"

namespace mercer::MERCER_ISA {

constexpr int strip(int mr, int nr, int wanted) {
    int unit = nr;
    while (unit % mr) unit += nr;
    return (wanted + unit / 2) / unit * unit;
}

template <class T> constexpr Isa<T> table() {
    constexpr int MR = kRows<T>, NR = kColumns<T>;
    return Isa<T>{MR,
                  NR,
                  strip(MR, NR, sizeof(T) == 4 ? 240 : 144),
                  {tile<T, Dot, MR>, tile<T, Dot, MR>, tile<T, SquaredDirect, MR>, tile<T, L1, MR>, tile<T, Linf, MR>,
                   tile<T, Intersection, MR>, tile<T, Chi2, MR>, tile<T, Chi2Distance, MR>, tile<T, JensenShannon, MR>,
                   tile<T, Equal, MR>},
                  lists<T, Numbers<T>, kRows<T>, 1>(),
                  row_squares<T>,
                  column_squares<T>,
                  distances<T>,
                  suspects<T>,
                  integer_tiles<T, WordProducts>(),
                  integer_distances<T>,
                  direct<T>,
                  apply<T>,
                  runs<T>(),
                  multiply<T, T>,
                  multiply<T, double>};
}

extern const Isa<float> f32;
extern const Isa<double> f64;
const Isa<float> f32 = table<float>();
const Isa<double> f64 = table<double>();

} // namespace mercer::MERCER_ISA
