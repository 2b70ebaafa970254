// Tiles of bytes, for processors with an instruction that multiplies and adds them, in the shape of the tiles of
// another instruction set: see variant.cpp, whose rule on names holds here too.
#include "kernels/integer_tiles.hpp"
#include "kernels/isa.hpp"

namespace mercer::MERCER_ISA {

extern const IntegerTiles<float> bytes32;
extern const IntegerTiles<double> bytes64;
const IntegerTiles<float> bytes32 = integer_tiles<float, ByteProducts>();
const IntegerTiles<double> bytes64 = integer_tiles<double, ByteProducts>();

} // namespace mercer::MERCER_ISA
