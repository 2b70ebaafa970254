// Blocks of a kernel matrix of sparse rows through an inverted index: for every coordinate of x, the list of
// the samples z that have it. Only coordinates that both samples have are visited, because each reduction
// here splits into a part of x alone, a part of z alone, and a sum over the common coordinates.
// The few coordinates that most samples have would fill most of the lists; they go through dense panels instead.
// Sums run in double precision and in the order of the coordinates, so k(x, z) == k(z, x) to the last bit.
#include "kernels/isa.hpp"
#include "kernels/packing.hpp"
#include "kernels/pairs.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace mercer {
namespace {

constexpr Index kBlock = 8192; // columns whose lists lie together, and whose sums are kept at a time: 64 KiB
constexpr Index kRows = 18;    // rows of a task, or of a part of it
constexpr Index kHeight = 128; // rows handed out together
constexpr Index kPanel = 256;  // rows filled together of a symmetric matrix
constexpr Index kAhead = 8;    // lists asked for before they are needed
constexpr Index kTile = 64;    // rows and columns copied together
// Bytes of lists that are made when they are wanted, or of their heads if these are more.
constexpr std::size_t kMade = std::size_t(4) << 20;

// The samples that have a coordinate: a range of postings.
struct List {
    std::uint32_t begin = 0, end = 0;
};
template <class T> struct Posting {
    std::int32_t row;
    T value;
};

// How many columns' lists are made at a time, where they are not kept.
template <class T, class S> Index made_together(const Source<S>& z) {
    const std::size_t each = std::size_t(z.stored()) * sizeof(Posting<T>) / std::size_t(std::max<Index>(1, z.rows));
    const std::size_t most = std::max(kMade, std::size_t(z.columns) * sizeof(List));
    return std::clamp<Index>(Index(most / (each + 1)), kRows, kBlock);
}

double jensen_shannon(double x, double z) {
    return 0.5 * (x * std::log1p(z / x) + z * std::log1p(x / z)) / std::log(2.0);
}

template <class T> class SparsePairs final : public Pairs<T> {
  public:
    SparsePairs(const Source<T>& x, const Source<T>& z, Formula formula, const Frame& frame, const Layout& layout)
        : x_(x), z_(z), formula_(std::move(formula)), isa_(instruction_set().of<T>()), place_(layout.place),
          rest_(x.columns - layout.panelled) {
        if (frame.scale) scale_.assign(frame.scale, frame.scale + x.columns);
        const Index blocks = (z.rows + kBlock - 1) / kBlock;
        if (formula_.reduction == Reduction::linf) {
            kept_.resize(std::size_t(blocks)); // there is no use for lists
            return;
        }
        if (layout.panelled > 0) bind_popular(layout.panelled, layout.keep);
        x_terms_ = terms(x_);
        z_terms_ = same_rows(x_, z_) ? x_terms_ : terms(z_);
        if (!layout.keep) {
            width_ = made_together<T>(z);
            return;
        }
        kept_.resize(std::size_t(blocks));
        parallel(blocks,
                 [&](long b) { invert(b * kBlock, std::min(z_.rows, (b + 1) * kBlock), kept_[std::size_t(b)]); });
    }

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        fill(index, first_row, rows, first_column, last_column, out, stride, nullptr);
    }

    // Panels of rows from their diagonal on; what is left of it is a copy.
    void fill_symmetric(T* out, Index stride) const override {
        const Index n = z_.rows, tiles = (n + kTile - 1) / kTile;
        std::vector<Heads> remaining; // from the diagonal on
        for (const Inverted& block : kept_) remaining.push_back(block.heads);
        const bool lists = formula_.reduction != Reduction::linf && !kept_.empty();
        for (Index r = 0; r < n; r += kPanel) {
            const Index height = std::min(kPanel, n - r);
            fill(nullptr, r, height, r, n, out + r * stride + r, stride, lists ? &remaining : nullptr);
            for (Index i = r; lists && i < r + height; ++i)
                for (Index p = z_.begin(i); p < z_.end(i); ++p)
                    if (place_[z_.indices[p]] < 0) ++remaining[i / kBlock][z_.indices[p]].begin;
        }
        parallel(tiles * tiles, [&](long t) {
            const Index i0 = t / tiles * kTile, j0 = t % tiles * kTile;
            for (Index i = i0; i < std::min(n, i0 + kTile); ++i) {
                const Index known = i / kPanel * kPanel; // columns before it are not filled yet
                for (Index j = j0; j < std::min(known, j0 + kTile); ++j) out[i * stride + j] = out[j * stride + i];
            }
        });
    }

    // As many columns at a time as have their lists together.
    void stream(const Index* index, Index rows, Index first_column, Index last_column,
                const typename Pairs<T>::Visit& visit, const typename Pairs<T>::Ready*) const override {
        static thread_local Buffer<T> memory;
        for (Index j0 = first_column; j0 < last_column;) {
            const Index j1 = std::min(last_column, (j0 / width_ + 1) * width_);
            T* block = memory.reserve(std::size_t(std::min(kHeight, rows) * (j1 - j0)));
            for (Index r = 0; r < rows; r += kHeight) {
                const Index count = std::min(kHeight, rows - r);
                fill(index + r, 0, count, j0, j1, block, j1 - j0);
                visit(r, count, j0, j1, block, j1 - j0);
            }
            j0 = j1;
        }
    }
    Index height(Index) const override { return kHeight; }

    // Lists are searched for the first and the last of the columns.
    bool narrow() const override { return false; }

  private:
    using Heads = std::vector<List>; // of each coordinate
    struct Inverted {                // the lists of the columns first .. last - 1, which they count from the first
        Index first = 0, last = 0;
        std::uint64_t owner = 0;
        Heads heads;
        Buffer<Posting<T>> postings;
    };

    void invert(Index first, Index last, Inverted& result) const {
        result.first = first, result.last = last;
        Heads& heads = result.heads;
        heads.assign(std::size_t(z_.columns), {});
        Index stored = 0;
        for (Index r = first; r < last; ++r) stored += z_.end(r) - z_.begin(r);
        if (stored > Index(std::numeric_limits<std::uint32_t>::max()))
            throw std::length_error("more than 4e9 values in the rows of one block of a sparse matrix");
        for (Index r = first; r < last; ++r)
            for (Index p = z_.begin(r); p < z_.end(r); ++p) ++heads[z_.indices[p]].end;
        std::uint32_t total = 0;
        for (Index k = 0; k < z_.columns; ++k) { // the lists of popular coordinates are empty
            const std::uint32_t size = place_[k] < 0 ? heads[k].end : 0;
            heads[k] = {total, total};
            total += size;
        }
        Posting<T>* postings = result.postings.reserve(std::size_t(total) + 1);
        for (Index r = first; r < last; ++r)
            for (Index p = z_.begin(r); p < z_.end(r); ++p)
                if (place_[z_.indices[p]] < 0)
                    postings[heads[z_.indices[p]].end++] = {static_cast<std::int32_t>(r - first), value(z_, p)};
    }

    // The lists of these columns, and perhaps more; made in this thread's memory if none are kept.
    const Inverted& lists(Index first, Index last) const {
        if (!kept_.empty()) return kept_[std::size_t(first / kBlock)];
        static thread_local Inverted made;
        if (made.owner != number_ || made.first != first || made.last != last) {
            made.owner = 0;
            invert(first, last, made);
            made.owner = number_;
        }
        return made;
    }

    // `rest`, if not null, is the lists without the columns before first_column, which are searched for otherwise.
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride, const std::vector<Heads>* rest) const {
        if (rows <= 0 || last_column <= first_column) return;
        const Index b0 = first_column / width_, blocks = (last_column - 1) / width_ - b0 + 1;
        // A task that has to make its lists does so for all rows.
        const Index height =
            kept_.empty() ? rows : std::max<Index>(1, std::min<Index>(kRows, rows * blocks / (4 * thread_count())));
        const Index groups = (rows + height - 1) / height;
        parallel(groups * blocks, [&](long t) {
            const Index b = b0 + t % blocks, first = (t / blocks) * height, last = std::min(rows, first + height);
            const Index j0 = std::max(first_column, b * width_), j1 = std::min(last_column, (b + 1) * width_);
            const Inverted& columns = lists(j0, j1);
            for (Index r0 = first; r0 < last; r0 += kRows) {
                const Index r1 = std::min(last, r0 + kRows);
                double* sums = popular_sums(index ? index + r0 : nullptr, first_row + r0, r1 - r0, j0, j1);
                for (Index r = r0; r < r1; ++r, sums += popular_ ? j1 - j0 : 0) {
                    if (!popular_) std::fill_n(sums, j1 - j0, 0.0); // the same row of sums, which stays in the cache
                    const Index i = index ? index[r] : first_row + r;
                    T* target = out + r * stride + (j0 - first_column);
                    reduce(i, columns, j0, j1, sums, target, rest ? (*rest)[std::size_t(b)].data() : nullptr);
                    isa_.apply(formula_.steps.data(), formula_.steps.data() + formula_.steps.size(), target,
                               std::size_t(j1 - j0));
                }
            }
        });
    }

    bool squares() const {
        return formula_.reduction == Reduction::squared_distance || formula_.reduction == Reduction::squared_direct;
    }

    void bind_popular(Index popular, bool keep) {
        popular_scale_.resize(scale_.empty() ? 0 : std::size_t(popular));
        for (std::size_t k = 0; k < scale_.size(); ++k)
            if (place_[k] >= 0) popular_scale_[std::size_t(place_[k])] = scale_[k];
        popular_ =
            bind_dense(popular_of(x_), popular_of(z_),
                       Formula{squares() ? Reduction::dot : formula_.reduction, {}, 0.0}, frame_of_popular(), keep);
    }
    Frame frame_of_popular() const { return {nullptr, popular_scale_.empty() ? nullptr : popular_scale_.data()}; }
    // The popular coordinates of these samples alone.
    Source<double> popular_of(const Source<T>& samples) const {
        Source<double> result = converted<double>(samples);
        result.columns = x_.columns - rest_;
        result.place = place_.data();
        return result;
    }

    // The sums over popular coordinates, if any, for some rows and the columns j0 .. j1 - 1, in this thread's memory.
    double* popular_sums(const Index* index, Index first_row, Index rows, Index j0, Index j1) const {
        static thread_local std::vector<double> memory;
        memory.resize(std::size_t(kRows * kBlock));
        if (popular_) popular_->fill(index, first_row, rows, j0, j1, memory.data(), j1 - j0);
        return memory.data();
    }

    T value(const Source<T>& s, Index p) const {
        return scale_.empty() ? s.value(p) : T(double(s.value(p)) * scale_[s.indices[p]]);
    }

    // What each sample adds to the reduction on its own; its square as the sum of the products with itself in the very
    // order of the others, so that its distance to itself is exactly zero.
    std::vector<double> terms(const Source<T>& s) const {
        std::vector<double> result(std::size_t(s.rows), 0.0);
        if (formula_.reduction == Reduction::dot) return result;
        if (popular_ && squares()) add_own_products(popular_of(s), result);
        for (Index i = 0; i < s.rows; ++i)
            for (Index p = s.begin(i); p < s.end(i); ++p) {
                const double v = value(s, p);
                if (place_[s.indices[p]] >= 0) continue;
                switch (formula_.reduction) {
                case Reduction::squared_distance:
                case Reduction::squared_direct: result[i] += v * v; break;
                case Reduction::l1:
                case Reduction::chi2_distance: result[i] += std::abs(v); break;
                case Reduction::equal: result[i] -= 1; break;
                default: break;
                }
            }
        return result;
    }

    void add_own_products(const Source<double>& samples, std::vector<double>& result) const {
        const auto pairs = bind_dense(samples, samples, Formula{Reduction::dot, {}, 0.0}, frame_of_popular(), false);
        parallel((samples.rows + kRows - 1) / kRows, [&](long t) {
            const Index first = t * kRows, count = std::min(kRows, samples.rows - first);
            double block[kRows * kRows];
            pairs->fill(nullptr, first, count, first, first + count, block, count);
            for (Index r = 0; r < count; ++r) result[std::size_t(first + r)] += block[r * count + r];
        });
    }

    template <class F> static void scatter(const Posting<T>* from, const Posting<T>* to, double* sums, F common) {
        for (; from != to; ++from) sums[from->row] += common(double(from->value));
    }

    // Adds the sums over common coordinates of row i with the columns j0 .. j1 - 1, which are among those of the lists.
    void common(Index i, const Inverted& columns, Index j0, Index j1, double* sums, const List* rest) const {
        const Posting<T>* posting = columns.postings.data();
        const Index first = j0 - columns.first, last = j1 - columns.first;
        sums -= first;
        const List* lists = rest ? rest : columns.heads.data();
        const bool whole = rest || (j0 == columns.first && j1 == columns.last);
        const Index end = x_.end(i);
        for (Index p = x_.begin(i); p < end; ++p) {
            if (p + 2 * kAhead < end) __builtin_prefetch(lists + x_.indices[p + 2 * kAhead]);
            if (p + kAhead < end) __builtin_prefetch(posting + lists[x_.indices[p + kAhead]].begin);
            const List list = lists[x_.indices[p]];
            const Posting<T>*from = posting + list.begin, *to = posting + list.end;
            if (from == to) continue;
            if (!whole) { // lists are in order
                auto before = [](const Posting<T>& p, Index row) { return p.row < row; };
                from = std::lower_bound(from, to, first, before);
                to = std::lower_bound(from, to, last, before);
            }
            const double x = value(x_, p);
            switch (formula_.reduction) {
            case Reduction::dot:
            case Reduction::squared_distance:
            case Reduction::squared_direct: scatter(from, to, sums, [=](double z) { return x * z; }); break;
            case Reduction::l1:
                scatter(from, to, sums, [=](double z) { return std::abs(x - z) - (std::abs(x) + std::abs(z)); });
                break;
            case Reduction::intersection: scatter(from, to, sums, [=](double z) { return std::min(x, z); }); break;
            case Reduction::chi2: scatter(from, to, sums, [=](double z) { return 2 * x * z / (x + z); }); break;
            case Reduction::chi2_distance:
                scatter(from, to, sums, [=](double z) { return -4 * x * z / (x + z); });
                break;
            case Reduction::jensen_shannon:
                scatter(from, to, sums, [=](double z) { return jensen_shannon(x, z); });
                break;
            case Reduction::equal: scatter(from, to, sums, [=](double z) { return x == z ? 2.0 : 1.0; }); break;
            case Reduction::linf: break;
            }
        }
    }

    // Visits every coordinate that x_i or z_j has, in order.
    template <class F> void merge(Index i, Index j, F visit) const {
        Index p = x_.begin(i), q = z_.begin(j);
        const Index p1 = x_.end(i), q1 = z_.end(j);
        while (p < p1 || q < q1) {
            const std::int32_t a = p < p1 ? x_.indices[p] : std::numeric_limits<std::int32_t>::max();
            const std::int32_t c = q < q1 ? z_.indices[q] : std::numeric_limits<std::int32_t>::max();
            visit(a <= c ? double(value(x_, p)) : 0.0, c <= a ? double(value(z_, q)) : 0.0);
            p += a <= c;
            q += c <= a;
        }
    }

    void reduce(Index i, const Inverted& columns, Index j0, Index j1, double* sums, T* out, const List* rest) const {
        if (formula_.reduction == Reduction::linf) {
            for (Index j = j0; j < j1; ++j) {
                double most = 0;
                merge(i, j, [&](double x, double z) { most = std::max(most, std::abs(x - z)); });
                out[j - j0] = T(most);
            }
            return;
        }
        common(i, columns, j0, j1, sums, rest);
        const double term = x_terms_[i];
        const double* terms = z_terms_.data() + j0;
        const Index n = j1 - j0;
        switch (formula_.reduction) {
        case Reduction::squared_distance:
        case Reduction::squared_direct:
            for (Index j = 0; j < n; ++j) out[j] = T(distance(i, j0 + j, term + terms[j], sums[j]));
            break;
        case Reduction::l1:
        case Reduction::chi2_distance:
            for (Index j = 0; j < n; ++j) out[j] = T(difference(i, j0 + j, term + terms[j], sums[j]));
            break;
        case Reduction::equal:
            for (Index j = 0; j < n; ++j) out[j] = T(double(rest_) + (term + terms[j]) + sums[j]);
            break;
        default:
            for (Index j = 0; j < n; ++j) out[j] = T((term + terms[j]) + sums[j]);
        }
    }

    // What the two samples add alone plus what they have in common (which is negative), or the differences themselves
    // where that has lost too many digits.
    double difference(Index i, Index j, double mass, double common) const {
        const double value = mass + common;
        if (4e-16 * mass <= (sizeof(T) == 4 ? 1e-9 : 2e-15) * value) return value;
        double sum = 0;
        const bool l1 = formula_.reduction == Reduction::l1;
        merge(i, j, [&](double x, double z) { sum += l1 ? std::abs(x - z) : (x - z) * ((x - z) / (x + z)); });
        return sum;
    }

    // |x|^2 + |z|^2 - 2 x.z, or the differences themselves where that has lost too many digits.
    double distance(Index i, Index j, double squares, double dot) const {
        const double value = squares - 2 * dot;
        const double allowed = sizeof(T) == 4 ? 1e-9 : 1e-13;
        const double scale = formula_.rate > 0 ? std::max(value, 1 / formula_.rate) : value;
        if (4e-16 * squares <= allowed * scale) return value;
        double sum = 0;
        merge(i, j, [&](double x, double z) { sum += (x - z) * (x - z); });
        return sum;
    }

    Source<T> x_, z_;
    Formula formula_;
    const Isa<T>& isa_;
    std::vector<double> scale_;
    std::vector<double> x_terms_, z_terms_;
    std::vector<std::int32_t> place_; // among the popular coordinates, or -1
    Index rest_;                      // coordinates that are not popular
    std::vector<double> popular_scale_;
    std::unique_ptr<Pairs<double>> popular_;
    std::vector<Inverted> kept_; // block by block; empty: they are made when they are wanted
    Index width_ = kBlock;       // of a block, or of what is made
    std::uint64_t number_ = next_number();

    // What tells the lists of one object from those of another in the memory of a thread.
    static std::uint64_t next_number() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }
};

} // namespace

template <class T, class S> std::size_t listed_bytes(const Source<S>& z, Index panelled, bool keep) {
    const auto heads = std::size_t(z.columns) * sizeof(List), entries = std::size_t(z.stored());
    const std::size_t all = entries * sizeof(Posting<T>);
    if (!keep)
        return 2 * (heads + std::min(all, std::max(kMade, heads))); // as if of two threads, as steps depend on it
    const auto blocks = std::size_t((z.rows + kBlock - 1) / kBlock);
    return all + blocks * heads + std::size_t(z.rows * panelled) * sizeof(double);
}

template <class T> std::unique_ptr<Pairs<T>> bind(const Source<T>& x, const Source<T>& z, Formula formula,
                                                  const Frame& frame, const Layout& layout) {
    if (layout.lists) return std::make_unique<SparsePairs<T>>(x, z, std::move(formula), frame, layout);
    return bind_dense(x, z, std::move(formula), frame, layout.keep);
}
template <class T>
std::unique_ptr<Pairs<T>> bind(const Source<T>& x, const Source<T>& z, Formula formula, const Frame& frame) {
    const Layout layout = best_layout<T>(x, z, formula, frame);
    return bind(x, z, std::move(formula), frame, layout);
}

template std::size_t listed_bytes<float>(const Source<float>&, Index, bool);
template std::size_t listed_bytes<float>(const Source<double>&, Index, bool);
template std::size_t listed_bytes<double>(const Source<float>&, Index, bool);
template std::size_t listed_bytes<double>(const Source<double>&, Index, bool);
template std::unique_ptr<Pairs<float>> bind(const Source<float>&, const Source<float>&, Formula, const Frame&,
                                            const Layout&);
template std::unique_ptr<Pairs<double>> bind(const Source<double>&, const Source<double>&, Formula, const Frame&,
                                             const Layout&);
template std::unique_ptr<Pairs<float>> bind(const Source<float>&, const Source<float>&, Formula, const Frame&);
template std::unique_ptr<Pairs<double>> bind(const Source<double>&, const Source<double>&, Formula, const Frame&);

} // namespace mercer
