// The matrix that a program makes of others of the same samples: sums, products and the like of kernels, for the
// solvers.
#include "costs.hpp"
#include "gram/gram.hpp"

#include <mutex>
#include <stdexcept>

namespace mercer {
namespace {

template <class T> class ComposedGram final : public Gram<T> {
  public:
    ComposedGram(std::vector<const Gram<T>*> parts, Program program, Index size, EntryErrors errors)
        : parts_(std::move(parts)), program_(std::move(program)), size_(size), errors_(std::move(errors)) {
        program_.check(Index(parts_.size()), size, size);
        for (const Gram<T>* part : parts_) {
            if (part->size() != size) throw std::invalid_argument("the parts of a matrix must be of the same samples");
            cost_ += part->cost(), bytes_ += part->bytes(), each_ += part->bytes_each();
        }
        cost_ += costs::kInstruction * double(program_.instructions.size()) * double(sizeof(T)) / 4;
    }
    Index size() const override { return size_; }
    std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                      const std::vector<Index>& columns) const override {
        std::vector<std::shared_ptr<const Pairs<T>>> bound;
        for (const Gram<T>* part : parts_) bound.push_back(part->between(rows, columns));
        return compose(std::move(bound), program_.between(rows, columns), Index(rows.size()), Index(columns.size()),
                       program_.exact_diagonal() ? Diagonal::of(rows, columns) : Diagonal{});
    }
    const Pairs<T>& all() const override {
        std::call_once(once_, [&] {
            std::vector<std::shared_ptr<const Pairs<T>>> bound;
            for (const Gram<T>* part : parts_) // they own their pairs
                bound.emplace_back(std::shared_ptr<const Pairs<T>>(), &part->all());
            all_ = compose(std::move(bound), program_, size_, size_,
                           program_.exact_diagonal() ? Diagonal::of(size_) : Diagonal{});
        });
        return *all_;
    }
    double diagonal(Index i) const override {
        std::call_once(diagonal_once_, [&] { diagonal_ = diagonal_of(all(), size_); });
        return double(diagonal_[std::size_t(i)]);
    }
    std::size_t bytes() const override { return bytes_; }
    std::size_t bytes_each() const override { return each_; }
    double cost() const override { return cost_; }
    const EntryErrors& errors() const override { return errors_; }

  private:
    std::vector<const Gram<T>*> parts_;
    Program program_;
    Index size_;
    EntryErrors errors_;
    double cost_ = 0;
    std::size_t bytes_ = 0, each_ = 0;
    mutable std::once_flag once_, diagonal_once_;
    mutable std::vector<T> diagonal_;
    mutable std::unique_ptr<Pairs<T>> all_;
};

} // namespace

template <class T> std::unique_ptr<Gram<T>> composed_gram(std::vector<const Gram<T>*> parts, Program program,
                                                          Index size, EntryErrors errors) {
    return std::make_unique<ComposedGram<T>>(std::move(parts), std::move(program), size, std::move(errors));
}
template std::unique_ptr<Gram<float>> composed_gram(std::vector<const Gram<float>*>, Program, Index, EntryErrors);
template std::unique_ptr<Gram<double>> composed_gram(std::vector<const Gram<double>*>, Program, Index, EntryErrors);

} // namespace mercer
