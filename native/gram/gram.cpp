#include "gram/gram.hpp"

#include "costs.hpp"
#include "kernels/isa.hpp"
#include "kernels/packing.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

namespace mercer {
namespace {

// Some rows of a source, copied together as they are, to be read in the precision T.
template <class T, class S> struct CopiedRows {
    static constexpr Index kRows = 256;
    Buffer<S> memory; // coordinates, or values
    std::vector<std::int32_t> indices;
    std::vector<Index> indptr;
    Source<T> source;

    CopiedRows(const Source<S>& from, const std::vector<Index>& rows) {
        Source<S> copy;
        copy.rows = Index(rows.size()), copy.columns = from.columns;
        if (from.sparse())
            copy_sparse(from, rows, copy);
        else
            copy_dense(from, rows, copy);
        source = converted<T>(copy);
    }
    void copy_dense(const Source<S>& from, const std::vector<Index>& rows, Source<S>& copy) {
        copy.row_stride = from.columns, copy.column_stride = 1;
        copy.data = memory.reserve(rows.size() * std::size_t(from.columns));
        parallel((copy.rows + kRows - 1) / kRows, [&](long t) {
            for (Index r = t * kRows; r < std::min(copy.rows, (t + 1) * kRows); ++r)
                from.read(rows[std::size_t(r)], memory.data() + r * from.columns);
        });
    }
    void copy_sparse(const Source<S>& from, const std::vector<Index>& rows, Source<S>& copy) {
        indptr.reserve(rows.size() + 1);
        indptr.push_back(0);
        for (Index i : rows) indptr.push_back(indptr.back() + from.end(i) - from.begin(i));
        indices.resize(std::size_t(indptr.back()));
        memory.reserve(indices.size() + 1);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const Index first = from.begin(rows[r]), count = indptr[r + 1] - indptr[r];
            std::copy_n(from.values + first, count, memory.data() + indptr[r]);
            std::copy_n(from.indices + first, count, indices.data() + indptr[r]);
        }
        copy.values = memory.data(), copy.indices = indices.data(), copy.indptr = indptr.data();
    }
};

template <class T, class S> class SelectedPairs final : public Pairs<T> {
  public:
    SelectedPairs(const Source<S>& source, const std::vector<Index>& rows, const std::vector<Index>& columns,
                  const Formula& formula, const Frame& frame, const Layout& layout)
        : columns_(source, columns) {
        if (&rows != &columns) rows_ = std::make_unique<CopiedRows<T, S>>(source, rows);
        pairs_ = bind(rows_ ? rows_->source : columns_.source, columns_.source, formula, frame, layout);
    }
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        pairs_->fill(index, first_row, rows, first_column, last_column, out, stride);
    }
    void fill_symmetric(T* out, Index stride) const override { pairs_->fill_symmetric(out, stride); }
    using typename Pairs<T>::Ready;
    void prepare(const Index* index, Index rows, std::unique_ptr<Ready>& ready) const override {
        pairs_->prepare(index, rows, ready);
    }
    void stream(const Index* index, Index rows, Index first_column, Index last_column,
                const typename Pairs<T>::Visit& visit, const Ready* ready) const override {
        pairs_->stream(index, rows, first_column, last_column, visit, ready);
    }
    void write(const Index* index, Index rows, Index first_column, Index last_column, T* out, Index stride,
               const Ready* ready) const override {
        pairs_->write(index, rows, first_column, last_column, out, stride, ready);
    }
    Index grain() const override { return pairs_->grain(); }
    Index height(Index columns) const override { return pairs_->height(columns); }
    bool narrow() const override { return pairs_->narrow(); }

  private:
    CopiedRows<T, S> columns_;
    std::unique_ptr<CopiedRows<T, S>> rows_;
    std::unique_ptr<Pairs<T>> pairs_;
};

template <class T, class S> class FormulaGram final : public Gram<T> {
  public:
    FormulaGram(const Source<S>& source, Formula formula, const Frame& frame, const EntryErrors& errors,
                std::size_t budget, double lost)
        : source_(source), formula_(std::move(formula)) {
        if (frame.shift) shift_.assign(frame.shift, frame.shift + source.columns);
        if (frame.scale) scale_.assign(frame.scale, frame.scale + source.columns);
        frame_ = {shift_.empty() ? nullptr : shift_.data(), scale_.empty() ? nullptr : scale_.data(), frame.grid};
        form_ = form_of<T>(formula_.reduction, source.columns, frame_);
        layout_ = best_layout<T>(source_, source_, formula_, frame_);
        errors_ = errors.scaled(layout_.lists ? share() : 1.0, lost);
        packed_ = packed(true);
        keep_ = packed_ <= budget;
        if (!keep_) made_ = packed(false);
        cost_ = time();
    }
    Index size() const override { return source_.rows; }
    std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                      const std::vector<Index>& columns) const override {
        return std::make_unique<SelectedPairs<T, S>>(source_, rows, columns, formula_, frame_, layout_);
    }
    const Pairs<T>& all() const override {
        std::call_once(once_, [&] {
            Layout layout = layout_;
            layout.keep = keep_;
            const Source<T> rows = converted<T>(source_);
            all_ = bind(rows, rows, formula_, frame_, layout);
        });
        return *all_;
    }
    std::size_t bytes() const override { return keep_ ? packed_ : made_; }
    std::size_t bytes_each() const override { return packed_ / std::size_t(std::max<Index>(1, size())); }
    double cost() const override { return cost_; }
    // From blocks around it, so that it is the matrix's own to the last bit. The distance of a sample to itself is 0.
    double diagonal(Index i) const override {
        if (properties_of(formula_.reduction).distance) {
            T value = 0;
            const Step* step = formula_.steps.data();
            instruction_set().of<T>().apply(step, step + formula_.steps.size(), &value, 1);
            return value;
        }
        std::call_once(diagonal_once_, [&] { diagonal_ = diagonal_of(all(), size()); });
        return diagonal_[std::size_t(i)];
    }
    const EntryErrors& errors() const override { return errors_; }

  private:
    // Sums over sparse rows run in double precision. What is left of a bound are two roundings of each step, and all of
    // it where a step takes logarithms.
    static constexpr double kRounded = 0.2;
    double share() const {
        return std::any_of(formula_.steps.begin(), formula_.steps.end(),
                           [](const Step& s) { return s.op == Op::power && s.a != 0.5; })
                   ? 1.0
                   : kRounded;
    }
    // Panels, or lists with panels beside them.
    std::size_t packed(bool keep) const {
        if (layout_.lists) return listed_bytes<T>(source_, layout_.panelled, keep);
        return keep ? std::size_t(size() * source_.columns * bytes_of<T>(form_)) : 0;
    }
    double time() const {
        double width = double(source_.columns);
        if (source_.sparse() && source_.rows > 0)
            width = std::min(width, costs::kPerValue * double(source_.stored()) / double(source_.rows));
        const double single = sizeof(T) / 4.0;
        const double number = single * properties_of(formula_.reduction).cost;
        return (form_ == Form::number ? number : costs::kInteger * double(bytes_of<T>(form_))) * width +
               single * costs::kEntry;
    }
    Source<S> source_;
    Formula formula_;
    std::vector<double> shift_, scale_;
    Frame frame_;
    Form form_;
    Layout layout_;                     // of the whole matrix, for all its parts
    bool keep_ = true;                  // packed columns of the whole, or their lists
    std::size_t packed_ = 0, made_ = 0; // bytes of what is kept, or of what is made when it is wanted
    EntryErrors errors_;
    double cost_ = 0;
    mutable std::once_flag once_, diagonal_once_;
    mutable std::vector<T> diagonal_;
    mutable std::unique_ptr<Pairs<T>> all_;
};

} // namespace

template <class T> std::vector<T> diagonal_of(const Pairs<T>& pairs, Index size) {
    constexpr Index kBlock = 24;
    std::vector<T> result(static_cast<std::size_t>(size));
    parallel((size + kBlock - 1) / kBlock, [&](long t) {
        const Index first = t * kBlock, last = std::min(size, first + kBlock);
        std::vector<Index> rows(static_cast<std::size_t>(last - first));
        std::iota(rows.begin(), rows.end(), first);
        pairs.stream(rows.data(), last - first, first, last,
                     [&](Index r, Index count, Index j0, Index j1, const T* block, Index stride) {
                         for (Index k = r; k < r + count; ++k)
                             if (first + k >= j0 && first + k < j1)
                                 result[std::size_t(first + k)] = block[(k - r) * stride + first + k - j0];
                     });
    });
    return result;
}
template std::vector<float> diagonal_of(const Pairs<float>&, Index);
template std::vector<double> diagonal_of(const Pairs<double>&, Index);

template <class T, class S> std::unique_ptr<Gram<T>> formula_gram(const Source<S>& source, Formula formula,
                                                                  const Frame& frame, EntryErrors errors,
                                                                  std::size_t budget, double lost) {
    return std::make_unique<FormulaGram<T, S>>(source, std::move(formula), frame, errors, budget, lost);
}
template std::unique_ptr<Gram<float>> formula_gram(const Source<float>&, Formula, const Frame&, EntryErrors,
                                                   std::size_t, double);
template std::unique_ptr<Gram<float>> formula_gram(const Source<double>&, Formula, const Frame&, EntryErrors,
                                                   std::size_t, double);
template std::unique_ptr<Gram<double>> formula_gram(const Source<float>&, Formula, const Frame&, EntryErrors,
                                                    std::size_t, double);
template std::unique_ptr<Gram<double>> formula_gram(const Source<double>&, Formula, const Frame&, EntryErrors,
                                                    std::size_t, double);

} // namespace mercer
