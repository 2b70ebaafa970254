// Chooses at run time among the instruction sets this binary was built for.
#include "kernels/isa.hpp"
#include "solvers/scan.hpp"
#include "strings/tally.hpp"

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

namespace mercer {

#define MERCER_DECLARE(name)                                                                                           \
    namespace name {                                                                                                   \
    extern const Isa<float> f32;                                                                                       \
    extern const Isa<double> f64;                                                                                      \
    extern const Scans<float> scans32;                                                                                 \
    extern const Scans<double> scans64;                                                                                \
    extern const Tally tally;                                                                                          \
    }
MERCER_DECLARE(baseline)
#if defined(MERCER_X86)
MERCER_DECLARE(avx2)
MERCER_DECLARE(avx512)
namespace avx512vnni {
extern const IntegerTiles<float> bytes32;
extern const IntegerTiles<double> bytes64;
} // namespace avx512vnni
#endif

namespace {

bool always() { return true; }
#if defined(MERCER_X86)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
bool has_avx512vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }
#endif

// Widest first.
const InstructionSet kSets[] = {
#if defined(MERCER_X86)
    {"avx512vnni", has_avx512vnni, &avx512::f32, &avx512::f64, &avx512::scans32, &avx512::scans64, &avx512::tally,
     &avx512vnni::bytes32, &avx512vnni::bytes64},
    {"avx512", has_avx512, &avx512::f32, &avx512::f64, &avx512::scans32, &avx512::scans64, &avx512::tally, nullptr,
     nullptr},
    {"avx2", has_avx2, &avx2::f32, &avx2::f64, &avx2::scans32, &avx2::scans64, &avx2::tally, nullptr, nullptr},
#endif
    {"baseline", always, &baseline::f32, &baseline::f64, &baseline::scans32, &baseline::scans64, &baseline::tally,
     nullptr, nullptr},
};

std::atomic<const InstructionSet*> g_selected{nullptr};

} // namespace

std::vector<const InstructionSet*> instruction_sets() {
    std::vector<const InstructionSet*> result;
    for (const auto& set : kSets) result.push_back(&set);
    return result;
}

const InstructionSet& instruction_set() {
    const InstructionSet* set = g_selected.load();
    if (!set) {
        for (const auto& candidate : kSets)
            if (!set && candidate.available()) set = &candidate;
        g_selected = set;
    }
    return *set;
}

template <> const Scans<float>& scans<float>() { return *instruction_set().scans32; }
template <> const Scans<double>& scans<double>() { return *instruction_set().scans64; }
const Tally& tally() { return *instruction_set().tally; }

void select_instruction_set(const char* name) {
    std::string known;
    for (const auto& set : kSets) {
        if (std::strcmp(set.name, name) == 0) {
            if (!set.available()) throw std::invalid_argument(std::string("this processor has no ") + name);
            g_selected = &set;
            return;
        }
        known += std::string(known.empty() ? "" : ", ") + set.name;
    }
    throw std::invalid_argument(std::string("no instruction set is called ") + name + "; there are " + known);
}

} // namespace mercer
