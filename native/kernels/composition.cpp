// Compositions, tile by tile: a tile's blocks of all parts lie in the second-level cache while the program runs on
// them, a run of a row at a time in the first-level one. What parts make ready of rows is kept for all tiles of these
// rows.
#include "kernels/composition.hpp"

#include "kernels/isa.hpp"
#include "kernels/passes.hpp"
#include "kernels/transpose.hpp"
#include "memory/buffer.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>

namespace mercer {
namespace {

constexpr Index kRun = 512;   // entries of a row that the program runs on together
constexpr Index kWide = 8192; // columns of a tile if few cost more, each, than many: a block of sparse.cpp
// Bytes of a tile at the most, with all its blocks: half of a second-level cache; or, if tiles are wide, more, as rows
// are looked up in lists then, once for all columns.
constexpr Index kTile = Index(1) << 19, kWideTile = Index(1) << 22;
constexpr Index kTall = 288;      // rows of a tile at the most: a strip of dense.cpp, or more
constexpr Index kTogether = 128;  // rows that are handed out together, if tiles are wide
constexpr Index kAccumulated = 4; // rows that are added at once, see Pairs::height()

Index needed(Action action) { return effect(action) > 0 ? 0 : 1 - effect(action); }

std::vector<double> picked(const std::vector<double>& values, const std::vector<Index>& which) {
    std::vector<double> result;
    result.reserve(which.size());
    for (Index i : which) result.push_back(values[std::size_t(i)]);
    return result;
}

// The borders in the precision of the entries.
template <class T> struct Sides {
    std::vector<T> of_x, of_z, diagonal;
    explicit Sides(const Borders& from)
        : of_x(from.of_x.begin(), from.of_x.end()), of_z(from.of_z.begin(), from.of_z.end()),
          diagonal(from.diagonal.begin(), from.diagonal.end()) {}
};

// Memory of one thread, kept between calls so that its pages are touched once.
template <class T> struct CompositionScratch {
    Buffer<T> blocks, stack, seen;
    std::vector<const T*> at, held; // the rows of the parts; what is on the stack
    bool taken = false;
};
// A user's function may come here again while a block of its own is wanted: it gets memory of its own. So does who
// streams tiles beside who computes them.
enum class ScratchUse { tile, stream };
template <class T, ScratchUse> class Borrowed {
  public:
    Borrowed() {
        static thread_local CompositionScratch<T> of_thread;
        memory_ = of_thread.taken ? &own_ : &of_thread;
        memory_->taken = true;
    }
    ~Borrowed() { memory_->taken = false; }
    Borrowed(const Borrowed&) = delete;
    CompositionScratch<T>* operator->() { return memory_; }

  private:
    CompositionScratch<T> own_;
    CompositionScratch<T>* memory_;
};

template <class T> class ComposedPairs final : public Pairs<T> {
  public:
    using typename Pairs<T>::Ready;
    using typename Pairs<T>::Visit;

    ComposedPairs(std::vector<std::shared_ptr<const Pairs<T>>> parts, const Program& program, Index rows, Index columns,
                  Diagonal diagonal)
        : parts_(std::move(parts)), diagonal_(std::move(diagonal)), columns_(columns), isa_(instruction_set().of<T>()) {
        program.check(Index(parts_.size()), rows, columns);
        Passes passes(program, rows, columns);
        for (const Borders& borders : passes.borders) sides_.emplace_back(borders);
        passes_ = std::move(passes.passes);
        depth_ = program.depth();
        narrow_ = std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->narrow(); });
        width_ = narrow_ ? 1 : kWide;
        for (const auto& part : parts_) width_ = std::max(width_, part->grain());
        if (parts_.empty()) width_ = 256;
        const Index row = (Index(parts_.size()) + 1) * width_ * Index(sizeof(T));
        height_ = std::clamp<Index>((narrow_ ? kTile : kWideTile) / row, kAccumulated, kTall);
        if (height_ > isa_.mr) height_ -= height_ % isa_.mr;
    }

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        if (rows <= 0 || last_column <= first_column) return;
        std::vector<Index> every;
        if (!index) {
            every.resize(std::size_t(rows));
            std::iota(every.begin(), every.end(), first_row);
            index = every.data();
        }
        // As dense.cpp shares out its blocks: columns are cut at multiples of the width, few rows into more pieces.
        const Index tall = (rows + height_ - 1) / height_;
        const Index c0 = first_column / width_, c1 = (last_column + width_ - 1) / width_;
        const Index wanted = std::max<Index>(1, (8 * thread_count() + tall - 1) / tall);
        const Index pieces = std::min(wanted, c1 - c0), wide = (c1 - c0 + pieces - 1) / pieces;
        const Index groups = (c1 - c0 + wide - 1) / wide;
        parallel(tall * groups, [&](long t) {
            const Index r0 = (t / groups) * height_, count = std::min(height_, rows - r0);
            const Index g0 = c0 + (t % groups) * wide, g1 = std::min(c1, g0 + wide);
            const SpareTile lent(*this, index + r0, count);
            const Index a = std::max(first_column, g0 * width_), b = std::min(last_column, g1 * width_);
            tiles(index + r0, count, a, b, lent.tile(),
                  [&](Index j0, Index j1) { return TileOutput{out + r0 * stride + (j0 - first_column), stride, j1}; });
        });
    }

    void fill_symmetric(T* out, Index stride) const override {
        const Index n = columns_, strips = (n + width_ - 1) / width_;
        // Rows shrink towards the end, so the long ones are handed out first.
        const Index tall = (n + height_ - 1) / height_;
        std::vector<Index> every(static_cast<std::size_t>(n));
        std::iota(every.begin(), every.end(), Index(0));
        parallel(tall, [&](long t) {
            const Index r0 = t * height_, count = std::min(height_, n - r0);
            const SpareTile lent(*this, every.data() + r0, count);
            Borrowed<T, ScratchUse::stream> memory;
            T* seen = memory->seen.reserve(std::size_t(count * width_));
            for (Index c = r0 / width_; c < strips; ++c) {
                const Index j0 = std::max(r0, c * width_), j1 = std::min(n, (c + 1) * width_);
                tile(every.data() + r0, count, j0, j1, lent.tile(), seen, width_);
                for (Index i = 0; i < count; ++i) std::copy_n(seen + i * width_, j1 - j0, out + (r0 + i) * stride + j0);
                const Index left = std::max(j0, r0 + count); // what lies below the diagonal of these rows is computed
                if (left < j1)
                    transpose(count, j1 - left, seen + (left - j0), width_, out + left * stride + r0, stride);
            }
            // A part that is given is symmetric up to rounding: what is right of the diagonal counts.
            mirror(count, out + r0 * stride + r0, stride);
        });
    }

    void prepare(const Index* index, Index rows, std::unique_ptr<Ready>& ready) const override {
        if (!ready) ready = std::make_unique<Tiles>();
        auto& tiles = static_cast<Tiles&>(*ready).tiles;
        const Index needed = (rows + height_ - 1) / height_;
        if (Index(tiles.size()) < needed) tiles.resize(std::size_t(needed));
        parallel(needed, [&](long t) {
            prepare_tile(index + t * height_, std::min(height_, rows - t * height_), tiles[std::size_t(t)]);
        });
    }

    void stream(const Index* index, Index rows, Index first_column, Index last_column, const Visit& visit,
                const Ready* ready) const override {
        Borrowed<T, ScratchUse::stream> memory;
        const Index together = height(last_column - first_column);
        std::vector<std::unique_ptr<SpareTile>> lent;
        for (Index r0 = 0; r0 < rows; r0 += together) {
            const Index count = std::min(together, rows - r0);
            lent.clear();
            for (Index r = 0; !ready && r < count; r += height_)
                lent.push_back(std::make_unique<SpareTile>(*this, index + r0 + r, std::min(height_, count - r)));
            T* seen = memory->seen.reserve(std::size_t(count * width_));
            for (Index j0 = first_column; j0 < last_column;) {
                const Index j1 = std::min(last_column, (j0 / width_ + 1) * width_);
                for (Index r = 0; r < count; r += height_) {
                    const Tile& made = ready ? static_cast<const Tiles*>(ready)->tiles[std::size_t((r0 + r) / height_)]
                                             : lent[std::size_t(r / height_)]->tile();
                    tile(index + r0 + r, std::min(height_, count - r), j0, j1, made, seen + r * width_, width_);
                }
                visit(r0, count, j0, j1, seen, width_);
                j0 = j1;
            }
        }
    }

    void write(const Index* index, Index rows, Index first_column, Index last_column, T* out, Index stride,
               const Ready* ready) const override {
        for (Index r = 0; r < rows; r += height_) {
            const Index count = std::min(height_, rows - r);
            auto target = [&](Index j0, Index j1) {
                return TileOutput{out + r * stride + (j0 - first_column), stride, j1};
            };
            if (ready) {
                const Tile& made = static_cast<const Tiles*>(ready)->tiles[std::size_t(r / height_)];
                tiles(index + r, count, first_column, last_column, made, target);
            } else {
                const SpareTile lent(*this, index + r, count);
                tiles(index + r, count, first_column, last_column, lent.tile(), target);
            }
        }
    }

    // A multiple of the height of a tile.
    Index height(Index) const override { return std::max<Index>(1, kTogether / height_) * height_; }
    bool narrow() const override { return narrow_; }
    Index grain() const override { return width_; }

  private:
    // What the parts have made ready of the rows of a tile.
    struct Tile {
        std::vector<std::unique_ptr<Ready>> parts;
    };
    struct Tiles final : Ready {
        std::vector<Tile> tiles;
    };
    struct TileOutput {
        T* out;
        Index stride, end;
    };

    void prepare_tile(const Index* index, Index rows, Tile& tile) const {
        tile.parts.resize(parts_.size());
        for (std::size_t k = 0; k < parts_.size(); ++k) parts_[k]->prepare(index, rows, tile.parts[k]);
    }

    // A tile's rows made ready in memory that is used again for others, as its pages cost more than what is in them.
    class SpareTile {
      public:
        SpareTile(const ComposedPairs& pairs, const Index* index, Index rows) : pairs_(pairs) {
            {
                const std::lock_guard lock(pairs.lock_);
                if (!pairs.spare_.empty()) {
                    tile_ = std::move(pairs.spare_.back());
                    pairs.spare_.pop_back();
                }
            }
            pairs.prepare_tile(index, rows, tile_);
        }
        ~SpareTile() {
            const std::lock_guard lock(pairs_.lock_);
            pairs_.spare_.push_back(std::move(tile_));
        }
        SpareTile(const SpareTile&) = delete;
        const Tile& tile() const { return tile_; }

      private:
        const ComposedPairs& pairs_;
        Tile tile_;
    };

    // The tiles of some rows, each to where target(first column, last column) says.
    template <class To> void tiles(const Index* index, Index rows, Index first_column, Index last_column,
                                   const Tile& made, To target) const {
        for (Index j0 = first_column; j0 < last_column;) {
            const Index j1 = std::min(last_column, (j0 / width_ + 1) * width_);
            const TileOutput to = target(j0, j1);
            tile(index, rows, j0, j1, made, to.out, to.stride);
            j0 = j1;
        }
    }

    void tile(const Index* index, Index rows, Index j0, Index j1, const Tile& made, T* out, Index stride) const {
        poll();
        Borrowed<T, ScratchUse::tile> memory;
        const Index wide = j1 - j0, apart = (wide + 15) / 16 * 16; // every row of a block begins on a cache line
        const auto parts = Index(parts_.size());
        T* blocks = memory->blocks.reserve(std::size_t(parts * rows * apart));
        for (Index k = 0; k < parts; ++k)
            parts_[std::size_t(k)]->write(index, rows, j0, j1, blocks + k * rows * apart, apart,
                                          made.parts[std::size_t(k)].get());
        T* stack = memory->stack.reserve(std::size_t(std::max<Index>(1, depth_ - 1) * kRun));
        memory->at.resize(std::size_t(parts)), memory->held.resize(std::size_t(depth_));
        for (Index r = 0; r < rows; ++r) {
            for (Index j = 0; j < wide; j += kRun) {
                for (Index k = 0; k < parts; ++k) memory->at[std::size_t(k)] = blocks + (k * rows + r) * apart + j;
                run(index[r], j0 + j, std::min(kRun, wide - j), memory->at.data(), stack, memory->held.data(),
                    out + r * stride + j);
            }
        }
    }

    // Runs the program on the entries of row i and the columns from j on. The value at the bottom of the stack is where
    // the result goes. Parts are pushed by where they lie, and not copied.
    void run(Index i, Index j, Index count, const T* const* parts, T* stack, const T** held, T* out) const {
        const Runs<T>& runs = isa_.runs;
        const auto n = std::size_t(count);
        Index top = -1;
        const auto memory = [&](Index k) { return k == 0 ? out : stack + (k - 1) * kRun; };
        for (const Pass& pass : passes_) {
            const bool of_sides = pass.term || bordered(pass.action);
            const Sides<T>* sides = of_sides ? &sides_[std::size_t(pass.operand)] : nullptr;
            const T u = sides ? sides->of_x[std::size_t(i)] : T(0);
            const T* v = sides ? sides->of_z.data() + j : nullptr;
            const auto term = [=](const Pass& of) { return PowerTerm<T>{T(of.scale), u, v, of.power}; };
            switch (pass.action) {
            case Action::part: held[++top] = parts[pass.operand]; break;
            case Action::constant:
                ++top;
                held[top] = memory(top);
                std::fill_n(memory(top), n, T(pass.value));
                break;
            case Action::add:
                --top;
                if (pass.term)
                    runs.add_term(n, held[top], T(pass.factor), term(pass), held[top + 1], memory(top));
                else
                    runs.add(n, held[top], T(pass.factor), held[top + 1], memory(top));
                held[top] = memory(top);
                break;
            case Action::multiply:
                --top;
                if (pass.term)
                    runs.multiply_term(n, held[top], term(pass), held[top + 1], memory(top));
                else
                    runs.multiply(n, held[top], held[top + 1], memory(top));
                held[top] = memory(top);
                break;
            case Action::steps: {
                const Step* steps = pass.steps.data();
                runs.steps(steps, steps + pass.steps.size(), n, held[top], memory(top));
                held[top] = memory(top);
                break;
            }
            case Action::multiply_borders:
                runs.multiply_borders(n, u, v, held[top], memory(top));
                held[top] = memory(top);
                if (!sides->diagonal.empty()) set_diagonal(i, j, count, sides->diagonal[std::size_t(i)], memory(top));
                break;
            case Action::subtract_borders:
                runs.subtract_borders(n, u, v, held[top], memory(top));
                held[top] = memory(top);
                break;
            case Action::inner_product:
                runs.inner_product(n, u, v, held[top], memory(top));
                held[top] = memory(top);
                break;
            }
        }
        if (held[0] != out) std::copy_n(held[0], n, out);
    }

    void set_diagonal(Index i, Index j, Index count, T exact, T* values) const {
        if (diagonal_.starts.empty()) return;
        for (Index p = diagonal_.starts[std::size_t(i)]; p < diagonal_.starts[std::size_t(i) + 1]; ++p) {
            const Index at = diagonal_.columns[std::size_t(p)] - j;
            if (at >= 0 && at < count) values[at] = exact;
        }
    }

    std::vector<std::shared_ptr<const Pairs<T>>> parts_;
    std::vector<Pass> passes_;
    std::vector<Sides<T>> sides_;
    Diagonal diagonal_;
    Index columns_;
    const Isa<T>& isa_;
    Index depth_ = 1, width_ = 1, height_ = 1;
    bool narrow_ = true;
    mutable std::mutex lock_;
    mutable std::vector<Tile> spare_;
};

} // namespace

void Program::check(Index parts, Index rows, Index columns) const {
    Index height = 0;
    for (const Instruction& instruction : instructions) {
        const Index most = instruction.action == Action::part ? parts : Index(borders.size());
        const bool named = instruction.action == Action::part || bordered(instruction.action);
        if (named && (instruction.operand < 0 || instruction.operand >= most))
            throw std::invalid_argument("a program names a part or borders that it has not");
        if (height < needed(instruction.action)) throw std::invalid_argument("a program takes more than it has pushed");
        height += effect(instruction.action);
    }
    if (height != 1) throw std::invalid_argument("a program leaves " + std::to_string(height) + " values, not one");
    for (const Borders& border : borders)
        if (Index(border.of_x.size()) != rows || Index(border.of_z.size()) != columns ||
            (!border.diagonal.empty() && Index(border.diagonal.size()) != rows))
            throw std::invalid_argument("borders need one number per row and one per column");
}

Index Program::depth() const {
    Index height = 0, most = 0;
    for (const Instruction& instruction : instructions) most = std::max(most, height += effect(instruction.action));
    return most;
}

Program Program::between(const std::vector<Index>& rows, const std::vector<Index>& columns) const {
    Program result{instructions, {}};
    for (const Borders& border : borders)
        result.borders.push_back({picked(border.of_x, rows), picked(border.of_z, columns),
                                  border.diagonal.empty() ? std::vector<double>{} : picked(border.diagonal, rows)});
    return result;
}

Diagonal Diagonal::of(Index samples) {
    Diagonal result;
    result.starts.resize(std::size_t(samples + 1));
    result.columns.resize(std::size_t(samples));
    std::iota(result.starts.begin(), result.starts.end(), Index(0));
    std::iota(result.columns.begin(), result.columns.end(), Index(0));
    return result;
}

Diagonal Diagonal::of(const std::vector<Index>& rows, const std::vector<Index>& columns) {
    std::vector<Index> order(columns.size());
    std::iota(order.begin(), order.end(), Index(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return columns[std::size_t(a)] < columns[std::size_t(b)]; });
    Diagonal result;
    result.starts.push_back(0);
    for (Index sample : rows) {
        auto at = std::lower_bound(order.begin(), order.end(), sample,
                                   [&](Index j, Index wanted) { return columns[std::size_t(j)] < wanted; });
        for (; at != order.end() && columns[std::size_t(*at)] == sample; ++at) result.columns.push_back(*at);
        result.starts.push_back(Index(result.columns.size()));
    }
    return result;
}

template <class T> std::unique_ptr<Pairs<T>> compose(std::vector<std::shared_ptr<const Pairs<T>>> parts,
                                                     Program program, Index rows, Index columns, Diagonal diagonal) {
    return std::make_unique<ComposedPairs<T>>(std::move(parts), program, rows, columns, std::move(diagonal));
}

template std::unique_ptr<Pairs<float>> compose(std::vector<std::shared_ptr<const Pairs<float>>>, Program, Index, Index,
                                               Diagonal);
template std::unique_ptr<Pairs<double>> compose(std::vector<std::shared_ptr<const Pairs<double>>>, Program, Index,
                                                Index, Diagonal);

} // namespace mercer
