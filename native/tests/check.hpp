// The smallest test framework that says what failed: CHECK, CHECK_CLOSE, CHECK_THROWS, and finish().
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace check {

inline int failures = 0;
inline std::string context; // printed with every failure, for tests in loops

inline void fail(const char* file, int line, const std::string& what) {
    if (++failures <= 20)
        std::printf("%s:%d: %s%s%s\n", file, line, what.c_str(), context.empty() ? "" : "   in ", context.c_str());
}
// |a - b| <= tolerance * scale, and both finite.
inline bool close(double a, double b, double tolerance, double scale) {
    return std::isfinite(a) && std::isfinite(b) && std::abs(a - b) <= tolerance * scale;
}
inline std::string difference(double a, double b, double scale) {
    char text[160];
    std::snprintf(text, sizeof text, " = %.9g, not %.9g: wrong by %.3g of %.3g", a, b, a - b, scale);
    return text;
}
inline int finish() {
    if (failures) std::printf("%d checks failed\n", failures);
    return failures ? 1 : 0;
}

} // namespace check

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) check::fail(__FILE__, __LINE__, #condition);                                                 \
    } while (false)

#define CHECK_CLOSE(a, b, tolerance, scale)                                                                            \
    do {                                                                                                               \
        const double a_ = double(a), b_ = double(b), scale_ = double(scale);                                           \
        if (!check::close(a_, b_, tolerance, scale_))                                                                  \
            check::fail(__FILE__, __LINE__, std::string(#a) + check::difference(a_, b_, scale_));                      \
    } while (false)

#define CHECK_THROWS(type, expression)                                                                                 \
    do {                                                                                                               \
        bool thrown_ = false;                                                                                          \
        try {                                                                                                          \
            expression;                                                                                                \
        } catch (const type&) {                                                                                        \
            thrown_ = true;                                                                                            \
        }                                                                                                              \
        if (!thrown_) check::fail(__FILE__, __LINE__, #expression " did not throw " #type);                            \
    } while (false)
