// One matrix in both precisions, with the rows of it that have been computed, for as long as it lives.
#pragma once

#include "gram/common_rows.hpp"
#include "gram/gram.hpp"
#include "gram/kept_rows.hpp"

#include <atomic>
#include <memory>
#include <type_traits>

namespace mercer {

// What of a matrix has been computed and is kept. One solve at a time may use it: whoever comes while it is in use
// keeps rows of his own.
class MatrixMemory {
  public:
    template <class T> KeptRows<T>& rows() {
        if constexpr (std::is_same_v<T, float>)
            return single_rows_;
        else
            return exact_rows_;
    }
    template <class T> std::unique_ptr<CommonRows<T>>& common() {
        if constexpr (std::is_same_v<T, float>)
            return single_common_;
        else
            return exact_common_;
    }
    template <class T> std::size_t common_bytes() { return common<T>() ? common<T>()->bytes() : 0; }
    template <class T> std::size_t bytes() { return rows<T>().bytes() + common_bytes<T>(); }
    // Gives the memory of one precision back, for the other.
    template <class T> void drop() {
        rows<T>().drop();
        common<T>().reset();
    }

    bool lasting = false;            // whether others will want the rows after the solve that computes them
    std::atomic<Index> computed = 0; // rows, so far

    // Whoever gets it has the memory to himself as long as he holds it; who does not, does without.
    class Use {
      public:
        explicit Use(MatrixMemory& memory) : in_use_(memory.in_use_.exchange(true) ? nullptr : &memory.in_use_) {}
        ~Use() {
            if (in_use_) *in_use_ = false;
        }
        Use(const Use&) = delete;
        explicit operator bool() const { return in_use_; }

      private:
        std::atomic<bool>* in_use_;
    };

  private:
    std::atomic<bool> in_use_ = false;
    KeptRows<float> single_rows_;
    KeptRows<double> exact_rows_;
    std::unique_ptr<CommonRows<float>> single_common_;
    std::unique_ptr<CommonRows<double>> exact_common_;
};

struct Matrices {
    std::unique_ptr<Gram<float>> single; // null where its error has no bound, or it gains nothing
    std::unique_ptr<Gram<double>> exact;
    mutable MatrixMemory memory = {};

    template <class T> const Gram<T>* of() const {
        if constexpr (std::is_same_v<T, float>)
            return single.get();
        else
            return exact.get();
    }
};

// Copies these rows into out, one after the other; those that are not kept are computed and, within the budget of
// bytes, kept. False, and nothing is done, if the matrix is in use or does not exist in this precision.
template <class T> bool read_rows(const Matrices& matrices, const std::vector<Index>& rows, std::size_t budget, T* out);

} // namespace mercer
