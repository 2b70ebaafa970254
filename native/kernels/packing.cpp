#include "kernels/packing.hpp"

#include "kernels/grouping.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>

namespace mercer {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr Index kPlaces = 132;    // of a chunk of integers: what lists read of column panels fits the first-level cache
constexpr Index kTransposed = 32; // coordinates of all samples of a panel at a time

// Lists are worth it up to this part of all coordinates: measured, a product of a list takes 1.1 (numbers) to 1.25
// (integers, which take a load each) times as long as one of a panel.
constexpr double kSparse = 0.8;
constexpr Index kFewest = 8; // coordinates

// PackingScratch memory of one thread, kept between calls so that its pages are touched once.
template <class T> struct PackingScratch {
    Buffer<T> rows, panel;
    Buffer<std::int16_t> places;
    Buffer<std::uint8_t> bytes;
};
template <class T> PackingScratch<T>& scratch() {
    static thread_local PackingScratch<T> s;
    return s;
}

// By its bits, as it may stand for integers.
template <class T> bool is_zero(T value) {
    constexpr T zero = 0;
    return std::memcmp(&value, &zero, sizeof value) == 0;
}

template <class T> T checked(T square) {
    if (!std::isfinite(square))
        throw std::overflow_error("the squares of the data overflow their precision; scale the data or use float64");
    return square;
}

} // namespace

template <class T> Form form_of(Reduction reduction, Index columns, const Frame& frame) {
    if (!frame.grid || reduction != Reduction::squared_distance || frame.scale || columns > Grid::kMostColumns)
        return Form::number;
    return instruction_set().bytes<T>() && frame.grid.zero == 0 ? Form::bytes : Form::words;
}
template Form form_of<float>(Reduction, Index, const Frame&);
template Form form_of<double>(Reduction, Index, const Frame&);

template <class T> Packing<T>::Packing(Reduction reduction, Index columns, const Frame& frame)
    : isa_(instruction_set().of<T>()), d_(columns), form_(form_of<T>(reduction, columns, frame)),
      integers_(form_ == Form::number  ? nullptr
                : form_ == Form::words ? &isa_.words
                                       : instruction_set().bytes<T>()),
      depth_(ceil_div(d_ * bytes_of<T>(form_), sizeof(T))),
      chunk_(std::max<Index>(1, integers_ ? ceil_div(depth_, ceil_div(std::max<Index>(1, depth_), kPlaces))
                                          : mercer::chunk<T>(d_))),
      distances_(reduction == Reduction::squared_distance), products_(distances_ || reduction == Reduction::dot),
      grid_(frame.grid) {
    if (frame.shift) shift_.assign(frame.shift, frame.shift + d_);
    if (frame.scale) scale_.assign(frame.scale, frame.scale + d_);
}

template <class T> T Packing<T>::columns(const Source<T>& source, Index first, T* panel, T* squares) const {
    if (integers_) {
        pack_integers(source, {nullptr, first}, source.rows - first, false, panel, squares);
        return 0;
    }
    pack(source, {nullptr, first}, source.rows - first, isa_.nr, panel);
    if (!distances_) return 0;
    isa_.column_squares(d_, panel, squares);
    return checked(*std::max_element(squares, squares + isa_.nr));
}

template <class T>
const Strip<T>& Packing<T>::rows(const Source<T>& source, SourceRows which, Index count, Strip<T>& strip) const {
    const int mr = isa_.mr;
    const Index panels = ceil_div(count, mr), chunks = ceil_div(std::max<Index>(1, depth_), chunk_);
    strip.count = count;
    T* rows = strip.panels.reserve(std::size_t(panels * mr * depth_) + 1);
    T* squares = strip.squares.reserve(std::size_t(panels * (mr + 1)));
    strip.largest = squares + panels * mr;
    T* panel = scratch<T>().panel.reserve(std::size_t(mr * depth_) + kAlignment);
    const bool zeros = arrange(source, which, strip);
    strip.zeros = false;
    const Index lists = mr / this->lists().rows;
    strip.length.assign(std::size_t(chunks * panels * lists), -1);
    if (zeros) strip.which.resize(std::size_t(panels * lists * depth_));
    std::vector<Index> samples(static_cast<std::size_t>(count));
    for (Index r = 0; r < count; ++r) samples[std::size_t(r)] = which[strip.order[std::size_t(r)]];
    for (Index p = 0; p < panels; ++p) {
        const SourceRows chosen = {samples.data() + p * mr, 0};
        if (integers_)
            pack_integers(source, chosen, count - p * mr, true, panel, squares + p * mr);
        else
            pack(source, chosen, count - p * mr, mr, panel);
        for (Index k = 0, c = 0; k < depth_; k += chunk_, ++c) {
            const Index depth = std::min(chunk_, depth_ - k), at = (k * panels + p * depth) * mr;
            if (zeros && list(depth, std::min<Index>(mr, count - p * mr), panel + k * mr, rows + at,
                              strip.which.data() + at / mr * lists, strip.length.data() + (c * panels + p) * lists))
                strip.zeros = true;
            else
                std::copy_n(panel + k * mr, depth * mr, rows + at);
        }
        if (!distances_ || integers_) continue;
        isa_.row_squares(d_, panel, squares + p * mr);
        strip.largest[p] = checked(*std::max_element(squares + p * mr, squares + (p + 1) * mr));
    }
    return strip;
}

// A panel of `width`, of which `count` samples are there; the others are zero.
template <class T>
void Packing<T>::pack(const Source<T>& source, SourceRows which, Index count, int width, T* panel) const {
    count = std::min<Index>(count, width);
    T* rows = scratch<T>().rows.reserve(std::size_t(width * d_));
    const Frame frame = {shift_.empty() ? nullptr : shift_.data(), scale_.empty() ? nullptr : scale_.data()};
    for (Index j = 0; j < count; ++j) frame.read(source, which[j], rows + j * d_);
    std::fill(rows + count * d_, rows + width * d_, T(0));
    for (Index k = 0; k < d_; k += kTransposed) { // few enough to stay in the first-level cache
        const Index many = std::min(kTransposed, d_ - k);
        for (int j = 0; j < width; ++j) {
            const T* from = rows + j * d_ + k;
            T* to = panel + k * width + j;
            for (Index l = 0; l < many; ++l) to[l * width] = from[l];
        }
    }
}

template <class T> void Packing<T>::pack_integers(const Source<T>& source, SourceRows which, Index count, bool rows,
                                                  T* panel, T* squares) const {
    constexpr std::int32_t kMiddle = 128;
    const bool narrow = form_ == Form::bytes;
    const int width = rows ? isa_.mr : isa_.nr;
    const Index room = depth_ * Index(sizeof(T));
    std::int16_t* place = scratch<T>().places.reserve(std::size_t(room));
    std::uint8_t* byte = scratch<T>().bytes.reserve(std::size_t(room));
    std::fill(place + d_, place + room, std::int16_t(0));
    for (int j = 0; j < width; ++j) {
        squares[j] = T(0);
        if (j >= count) {
            for (Index k = 0; k < depth_; ++k) panel[k * width + j] = T(0);
            continue;
        }
        std::int32_t square = 0, sum = 0;
        source.read(which[j], place, [&](Index, auto x) { return grid_.place(x); });
        for (Index k = 0; k < d_; ++k) square += std::int32_t(place[k]) * place[k], sum += place[k];
        // |x|^2 - 2 x.z = (|x|^2 - 2 * 128 sum(x)) - 2 x.(z - 128)
        if (narrow && rows) square -= 2 * kMiddle * sum;
        std::memcpy(squares + j, &square, sizeof square);
        for (Index k = 0; k < room && narrow; ++k) byte[k] = std::uint8_t(place[k] - (rows ? 0 : kMiddle));
        const char* from = narrow ? reinterpret_cast<char*>(byte) : reinterpret_cast<char*>(place);
        for (Index k = 0; k < depth_; ++k) std::memcpy(panel + k * width + j, from + k * sizeof(T), sizeof(T));
    }
}

// Makes lists of the rows of a panel, if that is worth it for those that are there.
template <class T>
bool Packing<T>::list(Index depth, Index live, const T* panel, T* values, std::uint16_t* which, Index* length) const {
    const int mr = isa_.mr, together = lists().rows;
    Index total = 0;
    for (int l = 0; l < mr / together; ++l, panel += together, values += depth * together, which += depth) {
        Index kept = 0;
        for (Index k = 0; k < depth; ++k) {
            bool zero = true;
            for (int i = 0; i < together; ++i) {
                values[kept * together + i] = panel[k * mr + i];
                zero = zero && is_zero(panel[k * mr + i]);
            }
            which[kept] = static_cast<std::uint16_t>(k);
            kept += !zero;
        }
        length[l] = kept;
        total += kept * together;
        if (double(total) > kSparse * double(live * depth)) {
            length[0] = -1;
            return false;
        }
    }
    return true;
}

// Finds places for the rows such that those of a list are zero in the same coordinates, as far as 64 of these tell; a
// row that has its own is as good anywhere. Says whether lists may be worth it.
template <class T> bool Packing<T>::arrange(const Source<T>& source, SourceRows which, Strip<T>& strip) const {
    const Index count = strip.count, seen = std::min<Index>(64, depth_);
    strip.order.resize(std::size_t(count));
    std::iota(strip.order.begin(), strip.order.end(), Index(0));
    if (count < isa_.mr || seen < kFewest || !products_) return false;
    if (lists().rows == 1) return true;
    T* row = scratch<T>().rows.reserve(std::size_t(d_));
    std::vector<std::uint64_t> bits(static_cast<std::size_t>(count));
    Index looked_at[64], total = 0;
    for (Index b = 0; b < seen; ++b) looked_at[b] = (2 * b + 1) * d_ / (2 * seen);
    for (Index r = 0; r < count; ++r) {
        const T* values = source.contiguous() ? source.row(which[r]) : row;
        if (values == row) source.read(which[r], row);
        for (Index b = 0; b < seen; ++b) {
            const Index k = looked_at[b];
            const bool zero = double(values[k]) == (shift_.empty() ? 0.0 : shift_[std::size_t(k)]);
            bits[std::size_t(r)] |= std::uint64_t(!zero) << b;
        }
        total += std::popcount(bits[std::size_t(r)]);
        // The first few rows tell enough, if they have few zeros.
        if ((r == 4 * isa_.mr || r + 1 == count) && double(total) > kSparse * double(seen * (r + 1))) return false;
    }
    group(bits, lists().rows, strip.order);
    return true;
}

template class Packing<float>;
template class Packing<double>;

} // namespace mercer
