// The Hessian of the primal problem, I + X_A'D X_A: A are the rows whose coefficients are free, D is 1/ridge.
//
// Of few columns the matrix itself is kept, and follows A row by row, so that a Newton step reads no others. Of more it
// is known by its products with vectors, and by a preconditioner: the factor of the Hessian of some of the rows, or of
// very many columns its diagonal.
#pragma once

#include "solvers/linear.hpp"

namespace mercer::linear {

template <class T> class Hessian {
  public:
    explicit Hessian(const ExtendedRows<T>& rows);

    // From now on that of `problem` at the rows `active`.
    void build(const std::vector<Index>& active, const LinearProblem& problem);
    // That of the rows `active`, after some came and others went; the preconditioner may be what it was.
    void follow(const std::vector<Index>& active, const std::vector<Index>& came, const std::vector<Index>& went);
    void product(const Vector& p, Vector& h);
    void solve(const Vector& r, Vector& z) const; // exact, or as the preconditioner does
    // Whether solve() is that of another A by now.
    bool stale() const { return changes_ > 0; }

  private:
    bool exact() const;
    bool factored() const;
    void diagonal();
    void accumulate(const std::vector<Index>& chosen, double scale, Vector& sum) const;
    void accumulate(const std::vector<Index>& chosen, std::size_t begin, std::size_t end, double scale,
                    double* sum) const;
    void factor();

    const ExtendedRows<T>& rows_;
    const LinearProblem* problem_ = nullptr;
    std::vector<Index> active_;
    Index d_, stride_;
    Index changes_ = 0;           // rows that came or went since the last build
    Vector matrix_, L_, columns_; // lower triangles, rows of stride_ numbers
    Vector diagonal_, partial_;
};

} // namespace mercer::linear
