// Blocks of a kernel matrix through packed panels, in the manner of Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication" (2008), with the kernel's formula applied to each tile while it
// is in the first-level cache.
//
//   z is packed once:  panels of nr samples, coordinate-major      [panel][coordinate][nr]
//                      or strip by strip whenever it is wanted, where that would take too much memory
//   x is packed per macro block of `strip` rows, a chunk of coordinates at a time, [chunk][panel][coordinate][mr]
//   a macro block of strip x strip results accumulates chunk after chunk, in tiles of mr x nr
//
// Every entry is summed in the same order wherever its tile lies, so the result depends neither on the
// number of threads nor on which block was asked for, and k(x, z) == k(z, x) to the last bit.
#include "kernels/isa.hpp"
#include "kernels/packing.hpp"
#include "kernels/pairs.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace mercer {
namespace {

// Panels of columns from number `first` on, sums of squares of each sample, and the largest of each panel.
template <class T> struct PackedColumns {
    Index first = 0;
    Buffer<T> panels, squares, largest;
};

// DenseScratch memory of one thread, kept between calls so that its pages are touched once.
template <class T> struct DenseScratch {
    Buffer<T> block, originals, seen;
    Strip<T> strip;
    PackedColumns<T> columns;
};
template <class T> DenseScratch<T>& scratch() {
    static thread_local DenseScratch<T> s;
    return s;
}

template <class T> class DensePairs final : public Pairs<T> {
  public:
    DensePairs(const Source<T>& x, const Source<T>& z, Formula formula, const Frame& frame, bool keep)
        : x_(x), z_(z), formula_(std::move(formula)), isa_(instruction_set().of<T>()), d_(x.columns),
          packing_(formula_.reduction, d_, frame),
          // Five standard deviations of the rounding error of a sum of terms of one sign, in chunks; measured.
          growth_(2 + 1.5 * double(packing_.chunk()) / std::sqrt(double(std::max<Index>(1, d_)))),
          distances_(formula_.reduction == Reduction::squared_distance),
          direct_scale_(packing_.scale().begin(), packing_.scale().end()) {
        set_suspicion();
        if (!keep) return;
        const Index panels = ceil_div(z.rows, isa_.nr);
        auto columns = std::make_shared<PackedColumns<T>>();
        reserve(*columns, 0, panels);
        parallel(panels, [&](long q) { pack(*columns, q); });
        kept_ = columns;
    }

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        if (rows <= 0 || last_column <= first_column) return;
        const Index strip = isa_.strip;
        const Index row_strips = ceil_div(rows, strip);
        // PackedColumns are cut at multiples of the strip; few rows are shared out by cutting them finer.
        const Index c0 = first_column / strip, c1 = ceil_div(last_column, strip);
        const Index wanted = std::max<Index>(1, ceil_div(8 * thread_count(), row_strips));
        const Index width = ceil_div(c1 - c0, std::min(wanted, c1 - c0));
        const Index groups = ceil_div(c1 - c0, width);
        parallel(row_strips * groups, [&](long t) {
            const Index r0 = (t / groups) * strip, count = std::min(strip, rows - r0);
            const SourceRows which = SourceRows{index, first_row}.after(r0);
            const Strip<T>& strip_rows = packing_.rows(x_, which, count, scratch<T>().strip);
            const Index g0 = c0 + (t % groups) * width, g1 = std::min(c1, g0 + width);
            for (Index c = g0; c < g1; ++c) {
                const Index j0 = std::max(first_column, c * strip), j1 = std::min(last_column, (c + 1) * strip);
                const Index base = j0 / isa_.nr * isa_.nr;
                compute(strip_rows, which, base, j1, BlockOutput{out + r0 * stride - first_column, stride, j0, j1});
            }
        });
    }

    void fill_symmetric(T* out, Index stride) const override {
        const Index n = z_.rows, strip = isa_.strip, strips = ceil_div(n, strip);
        // Row strips shrink towards the end, so the long ones are handed out first.
        parallel(strips, [&](long s) {
            const Index r0 = s * strip, count = std::min(strip, n - r0);
            const SourceRows which = {nullptr, r0};
            const Strip<T>& rows = packing_.rows(x_, which, count, scratch<T>().strip);
            for (Index c = s; c < strips; ++c) {
                const Index j0 = c * strip, j1 = std::min(n, j0 + strip);
                compute(rows, which, j0, j1, BlockOutput{out + r0 * stride, stride, j0, j1, false, c > s});
                if (c > s) store_transposed(rows, j0, j1, out + j0 * stride + r0, stride);
            }
        });
    }

    using typename Pairs<T>::Ready;
    void prepare(const Index* index, Index rows, std::unique_ptr<Ready>& ready) const override {
        if (!ready) ready = std::make_unique<Strips>();
        auto& strips = static_cast<Strips&>(*ready).strips;
        const Index strip = isa_.strip, needed = ceil_div(rows, strip);
        if (Index(strips.size()) < needed) strips.resize(std::size_t(needed));
        parallel(needed, [&](long s) {
            packing_.rows(x_, {index + s * strip, 0}, std::min(strip, rows - s * strip), strips[std::size_t(s)]);
        });
    }

    // The rows are packed once for all the columns, and every block is handed out from the same small memory.
    void stream(const Index* index, Index rows, Index first_column, Index last_column,
                const typename Pairs<T>::Visit& visit, const Ready* ready) const override {
        const Index strip = isa_.strip;
        for (Index r0 = 0; r0 < rows; r0 += strip) {
            const Index count = std::min(strip, rows - r0);
            const SourceRows which = {index + r0, 0};
            const Strip<T>& strip_rows = ready ? static_cast<const Strips*>(ready)->strips[std::size_t(r0 / strip)]
                                               : packing_.rows(x_, which, count, scratch<T>().strip);
            T* seen = scratch<T>().seen.reserve(std::size_t(strip) * strip);
            for (Index j0 = first_column; j0 < last_column;) {
                const Index j1 = std::min(last_column, (j0 / strip + 1) * strip);
                compute(strip_rows, which, j0 / isa_.nr * isa_.nr, j1, BlockOutput{seen - j0, strip, j0, j1, true});
                visit(r0, count, j0, j1, seen, strip);
                j0 = j1;
            }
        }
    }

    // Straight to where it is wanted, which is near.
    void write(const Index* index, Index rows, Index first_column, Index last_column, T* out, Index stride,
               const Ready* ready) const override {
        const Index strip = isa_.strip;
        for (Index r0 = 0; r0 < rows; r0 += strip) {
            const SourceRows which = {index + r0, 0};
            const Strip<T>& strip_rows = ready
                                             ? static_cast<const Strips*>(ready)->strips[std::size_t(r0 / strip)]
                                             : packing_.rows(x_, which, std::min(strip, rows - r0), scratch<T>().strip);
            for (Index j0 = first_column; j0 < last_column;) {
                const Index j1 = std::min(last_column, (j0 / strip + 1) * strip);
                compute(strip_rows, which, j0 / isa_.nr * isa_.nr, j1,
                        BlockOutput{out + r0 * stride - first_column, stride, j0, j1, true});
                j0 = j1;
            }
        }
    }

    Index grain() const override { return isa_.strip; }
    Index height(Index) const override { return isa_.strip; }

    std::unique_ptr<Pairs<T>> with_rows(const Source<T>& x) const override {
        if (!packing_.holds(x)) return nullptr;
        auto other = std::make_unique<DensePairs>(*this);
        other->x_ = x;
        return other;
    }

  private:
    class Originals;
    struct Strips final : Ready {
        std::vector<Strip<T>> strips;
    };

    // Where a block goes: entry (i, j) to out[i * stride + j], for j0 <= j < j1 only.
    struct BlockOutput {
        T* out;
        Index stride, j0, j1;
        bool near = false;  // whether that memory is in a cache already
        bool again = false; // whether the tiles are read again after they have been written there
    };

    // PackedColumns: room for panels q0 .. q1 - 1, one of them packed, and where it is.
    void reserve(PackedColumns<T>& columns, Index q0, Index q1) const {
        const auto count = std::size_t(q1 - q0), samples = count * std::size_t(isa_.nr);
        columns.first = q0;
        columns.panels.reserve(samples * std::size_t(packing_.depth()) + 1);
        columns.squares.reserve(samples);
        columns.largest.reserve(count);
    }
    void pack(PackedColumns<T>& columns, Index q) const {
        columns.largest.data()[q - columns.first] =
            packing_.columns(z_, q * isa_.nr, panel(columns, q), squares(columns, q));
    }
    T* panel(const PackedColumns<T>& columns, Index q) const {
        return columns.panels.data() + (q - columns.first) * packing_.depth() * isa_.nr;
    }
    T* squares(const PackedColumns<T>& columns, Index q) const {
        return columns.squares.data() + (q - columns.first) * isa_.nr;
    }
    const PackedColumns<T>& columns(Index q0, Index q1) const {
        if (kept_) return *kept_;
        PackedColumns<T>& columns = scratch<T>().columns;
        reserve(columns, q0, q1);
        for (Index q = q0; q < q1; ++q) pack(columns, q);
        return columns;
    }

    // Computes the rows and the columns base .. j1 - 1 in this thread's block, tile after tile: tile (p, q) starts at
    // (q * row panels + p) * mr * nr; or those of a row panel side by side, always in the same place, if none is needed
    // again. Finished tiles are written out at once, while the next are summed.
    void compute(const Strip<T>& rows, SourceRows which, Index base, Index j1, const BlockOutput& target) const {
        poll(); // the first row of blocks may touch all of a new matrix, which takes seconds
        const int mr = isa_.mr, nr = isa_.nr;
        const Index row_panels = ceil_div(rows.count, mr), q0 = base / nr, q1 = ceil_div(j1, nr);
        const PackedColumns<T>& z = columns(q0, q1);
        T* block = scratch<T>().block.reserve(std::size_t(isa_.strip) * isa_.strip);
        const IntegerTiles<T>* integers = packing_.integers();
        const auto tile = integers ? integers->tile : isa_.tile[static_cast<int>(formula_.reduction)];
        const Index whole = packing_.depth(), apart = whole * nr;
        const Lists<T>& lists = packing_.lists();
        const Index abreast = rows.zeros ? lists.abreast : 1, of_panel = mr / lists.rows;
        const bool again = target.again || whole > packing_.chunk();
        const Index next_tile = again ? row_panels * mr * nr : mr * nr;
        Index k = 0;
        const Index* length = rows.length.data();
        do { // once even without coordinates, so that the block is set
            const Index depth = std::min(packing_.chunk(), whole - k);
            const bool first = k == 0, last = k + depth >= whole;
            const Index bytes = depth * nr * Index(sizeof(T)), share = ceil_div(bytes, row_panels * 64) * 64;
            for (Index q = q0; q < q1; q += abreast) {
                const int panels = static_cast<int>(std::min(abreast, q1 - q));
                const T* b = panel(z, q) + k * nr;
                // The column panels used next come from far away: ask for a part of them at every tile.
                const T* next = q + panels < q1 ? b + panels * apart : panel(z, q0) + (k + depth) * nr;
                for (Index p = 0; p < row_panels; ++p) {
                    for (int j = 0; j < panels; ++j) ask(next + j * apart, p * share, std::min(bytes, (p + 1) * share));
                    T* sums = block + (again ? ((q - q0) * row_panels + p) * mr * nr : 0);
                    const int live = static_cast<int>(std::min<Index>(mr, rows.count - p * mr));
                    if (last && !target.near)
                        for (int j = 0; j < panels; ++j) claim(rows, p * mr, (q + j) * nr, live, target);
                    const Index at = k * row_panels + p * depth;
                    const T* a = rows.panels.data() + at * mr;
                    if (length[p * of_panel] >= 0)
                        lists.sum({live == mr ? of_panel : ceil_div(live, lists.rows), depth, length + p * of_panel,
                                   rows.which.data() + at * of_panel, a},
                                  panels, b, apart, sums, next_tile, first);
                    else
                        for (int j = 0; j < panels; ++j)
                            tile(live, depth, a, b + j * apart, sums + j * next_tile, first);
                    for (int j = 0; last && j < panels; ++j, sums += next_tile) {
                        finish(rows, z, which, p, q + j, live, sums);
                        store(rows, p * mr, (q + j) * nr, live, sums, target);
                    }
                }
            }
            k += depth;
            length += row_panels * of_panel;
        } while (k < whole);
    }

    static void ask(const T* numbers, Index first_byte, Index last_byte) {
        const char* bytes = reinterpret_cast<const char*>(numbers);
        for (Index at = first_byte; at < last_byte; at += 64) __builtin_prefetch(bytes + at, 0, 2);
    }

    void finish(const Strip<T>& rows, const PackedColumns<T>& z, SourceRows which, Index p, Index q, int live,
                T* sums) const {
        const Step *step = formula_.steps.data(), *end = step + formula_.steps.size();
        if (!distances_) return isa_.apply(step, end, sums, std::size_t(live) * isa_.nr);
        const T* row_squares = rows.squares.data() + p * isa_.mr;
        const T* column_squares = squares(z, q);
        if (packing_.integers())
            return isa_.integer_distances(live, row_squares, column_squares,
                                          T(packing_.grid().step * packing_.grid().step), step, end, sums);
        const double most = double(rows.largest[p]) + double(z.largest.data()[q - z.first]);
        if (!doubtful(most)) return isa_.distances(live, row_squares, column_squares, step, end, sums);
        unsigned suspects =
            isa_.suspects(live, row_squares, column_squares, suspect_slope_, suspect_offset_, step, end, sums);
        if (suspects == 0) return;
        Originals originals(*this, q);
        for (; suspects != 0; suspects &= suspects - 1) {
            const int i = std::countr_zero(suspects);
            T* entries = sums + i * isa_.nr;
            if (x_.other || z_.other) // the panels are as exact as what can be read
                repair_packed(rows, z, p, q, i, entries);
            else
                repair(rows, z, which, p, q, i, originals, entries);
            isa_.apply(step, end, entries, std::size_t(isa_.nr));
        }
    }

    // |x|^2 - 2 x.z + |z|^2 is wrong by up to this much, which matters where x and z are close together and far from
    // the centre. The kernel value is then wrong by at most rate times as much, relatively. In float32 1.7e-6 absolute
    // is allowed, so far pairs are forgiven because their value is small; in float64 5e-13 relative.
    double error(double squares) const {
        constexpr double eps = std::numeric_limits<T>::epsilon() / 2;
        return growth_ * eps * squares;
    }
    // Whether that may be too much. Samples of smaller squares are as good as their tile, or better: so what is
    // repaired does not depend on who else is in it.
    bool doubtful(double squares) const { return formula_.rate <= 0 || formula_.rate * error(squares) > kAllowed; }
    static constexpr bool kSingle = sizeof(T) == 4;
    static constexpr double kAllowed = kSingle ? 1.7e-6 : 5e-13;
    static constexpr double kAllowedOfDistance = kSingle ? 1e-5 : 2e-13;

    // The squared distance below which it is not good enough.
    double unreliable_below(double squares) const {
        if (formula_.rate <= 0) return error(squares) / kAllowedOfDistance;
        const double wrong = formula_.rate * error(squares);
        if (wrong <= kAllowed) return 0;
        return (kSingle ? std::min(std::log(wrong / kAllowed), 104.0) : 746.0) / formula_.rate + error(squares);
    }

    // The entries of a tile that are looked at more closely: those below a bound that is linear in the squares and
    // never less than unreliable_below(), as log x <= x - 1. Rows are searched with some room, so that which of their
    // entries are repaired depends on those alone.
    static constexpr double kRoom = 1.001;
    void set_suspicion() {
        const double rate = formula_.rate;
        double slope = error(1), offset = 0;
        if (rate <= 0)
            slope /= kAllowedOfDistance;
        else if (kSingle)
            slope += slope / kAllowed, offset = -1 / rate;
        else
            offset = 746 / rate;
        close_slope_ = T(slope), close_offset_ = T(offset);
        suspect_slope_ = T(kRoom * slope), suspect_offset_ = T(offset < 0 ? offset / kRoom : offset * kRoom);
    }

    // Computes the unreliable entries of row i of a tile again, from differences of the samples themselves ...
    void repair(const Strip<T>& rows, const PackedColumns<T>& z, SourceRows which, Index p, Index q, int i,
                Originals& originals, T* entries) const {
        const Index place = p * isa_.mr + i;
        const T row_square = rows.squares.data()[place];
        const T* column_squares = squares(z, q);
        const T* scale = direct_scale_.empty() ? nullptr : direct_scale_.data();
        for (int j = 0; j < originals.columns(); ++j)
            if (entries[j] < close_slope_ * (row_square + column_squares[j]) + close_offset_ &&
                double(entries[j]) < unreliable_below(double(row_square) + double(column_squares[j])))
                entries[j] = isa_.direct(d_, originals.x(which[rows.order[std::size_t(place)]]), originals.z(j), scale);
    }
    // ... or of what is packed, the whole row at once.
    void repair_packed(const Strip<T>& rows, const PackedColumns<T>& z, Index p, Index q, int i, T* entries) const {
        const T row_square = rows.squares.data()[p * isa_.mr + i];
        const T* column_squares = squares(z, q);
        const T* near = packed_distances(rows, z, p, q, i);
        for (Index j = 0; j < isa_.nr; ++j) {
            if (entries[j] < close_slope_ * (row_square + column_squares[j]) + close_offset_ &&
                doubtful(double(row_square) + double(column_squares[j])))
                entries[j] = near[j];
        }
    }

    // The squared distances of row i of a panel from a panel of columns, by differences of what is packed.
    const T* packed_distances(const Strip<T>& rows, const PackedColumns<T>& z, Index p, Index q, int i) const {
        const Index mr = isa_.mr, nr = isa_.nr, whole = packing_.depth();
        const Index row_panels = ceil_div(rows.count, mr);
        const Index* length = rows.length.data() + p; // a list is all rows of a panel, as there are no integers here
        T* near = scratch<T>().originals.reserve(std::size_t(nr + packing_.chunk() * mr));
        T* row = near + nr; // with zeros where they were left out; one in mr places counts
        for (Index k = 0; k < whole; k += packing_.chunk(), length += row_panels) {
            const Index depth = std::min(packing_.chunk(), whole - k), at = k * row_panels + p * depth;
            const T* a = rows.panels.data() + at * mr + i;
            if (*length >= 0) {
                for (Index c = 0; c < depth; ++c) row[c * mr] = T(0);
                for (Index c = 0; c < *length; ++c) row[rows.which[std::size_t(at + c)] * mr] = a[c * mr];
                a = row;
            }
            isa_.tile[static_cast<int>(Reduction::squared_direct)](1, depth, a, panel(z, q) + k * nr, near, k == 0);
        }
        return near;
    }

    // The samples of a tile as the caller has them: where they lie if their coordinates are contiguous, else copied,
    // the columns and a row when they are first asked for.
    class Originals {
      public:
        Originals(const DensePairs& pairs, Index q)
            : pairs_(pairs), first_(q * pairs.isa_.nr),
              columns_(std::min<Index>(pairs.isa_.nr, pairs.z_.rows - first_)), missing_(columns_),
              copied_(!pairs.x_.contiguous() || !pairs.z_.contiguous()) {}
        int columns() const { return int(columns_); }
        const T* x(Index i) {
            if (!copied_) return pairs_.x_.row(i);
            if (i != row_) pairs_.x_.read(row_ = i, buffer());
            return buffer();
        }
        const T* z(int j) {
            if (!copied_) return pairs_.z_.row(first_ + j);
            for (; missing_ > 0; --missing_) pairs_.z_.read(first_ + missing_ - 1, buffer() + missing_ * pairs_.d_);
            return buffer() + (j + 1) * pairs_.d_;
        }

      private:
        T* buffer() { return scratch<T>().originals.reserve(std::size_t((pairs_.isa_.nr + 1) * pairs_.d_)); }
        const DensePairs& pairs_;
        Index first_, columns_, missing_, row_ = -1;
        bool copied_;
    };

    // Asks for the memory of a tile's result while the tile is being summed.
    void claim(const Strip<T>& rows, Index place, Index j, int live, const BlockOutput& target) const {
        const T* out = target.out + std::max(j, target.j0);
        const Index* row = rows.order.data() + place;
        for (int r = 0; r < live; ++r) __builtin_prefetch(out + row[r] * target.stride, 1);
    }

    void store(const Strip<T>& rows, Index place, Index j, int live, const T* tile, const BlockOutput& target) const {
        const Index nr = isa_.nr, a = std::max(j, target.j0), b = std::min(j + nr, target.j1);
        const Index* row = rows.order.data() + place;
        constexpr Index kPiece = 32 / sizeof(T); // the narrowest panel is a multiple of this
        for (int r = 0; r < live; ++r, tile += nr) {
            T* out = target.out + row[r] * target.stride + a;
            if (b - a == nr)
                for (Index c = 0; c < nr; c += kPiece) std::memcpy(out + c, tile + c, 32);
            else
                std::memcpy(out, tile + (a - j), sizeof(T) * std::size_t(b - a));
        }
    }

    // out[j][i] for the block just computed; runs of mr rows of a tile are gathered into whole output rows.
    void store_transposed(const Strip<T>& rows, Index j0, Index j1, T* out, Index stride) const {
        const T* block = scratch<T>().block.data();
        const int mr = isa_.mr, nr = isa_.nr;
        const Index row_panels = ceil_div(rows.count, mr), *order = rows.order.data();
        for (Index j = j0; j < j1; ++j) {
            const T* column = block + ((j - j0) / nr) * row_panels * mr * nr + (j - j0) % nr;
            T* target = out + (j - j0) * stride;
            for (Index i = 0; i < rows.count; ++i) target[order[i]] = column[i * nr];
        }
    }

    Source<T> x_, z_;
    Formula formula_;
    const Isa<T>& isa_;
    Index d_;
    Packing<T> packing_;
    double growth_;
    bool distances_;
    T suspect_slope_ = 0, suspect_offset_ = 0, close_slope_ = 0, close_offset_ = 0;
    std::vector<T> direct_scale_;
    std::shared_ptr<const PackedColumns<T>> kept_; // null: they are packed when they are wanted
};

} // namespace

template <class T> std::unique_ptr<Pairs<T>> bind_dense(const Source<T>& x, const Source<T>& z, Formula formula,
                                                        const Frame& frame, bool keep) {
    return std::make_unique<DensePairs<T>>(x, z, std::move(formula), frame, keep);
}

template std::unique_ptr<Pairs<float>> bind_dense(const Source<float>&, const Source<float>&, Formula, const Frame&,
                                                  bool);
template std::unique_ptr<Pairs<double>> bind_dense(const Source<double>&, const Source<double>&, Formula, const Frame&,
                                                   bool);

} // namespace mercer
