// The words (k-mers) of sequences: every run of k letters, written as one number, and how often each sequence has it.
// Words with a letter that matches nothing are left out.
#pragma once

#include "strings/sequences.hpp"

#include <cstdint>
#include <vector>

namespace mercer {

using Key = std::uint64_t;

// Which words a sequence is said to have.
struct WordRule {
    Index shortest = 1, longest = 1; // their lengths
    bool both_strands = false;       // also those of the reverse complement; letter c pairs with alphabet - 1 - c
    Index mismatches = 0;            // also count every word that differs in up to this number of letters
};

// Row i holds the words keys[indptr[i] .. indptr[i + 1]), ascending, each with its count.
struct WordCounts {
    std::vector<Index> indptr;
    std::vector<Key> keys;
    std::vector<double> values;
};

// The number of words there may be. Beyond 2^63 it is no longer exact, and the keys are hashes of 64 bits.
double possible_words(std::int32_t alphabet, const WordRule& words);
constexpr double kMostExact = 9.2e18;

// A word's key is its letters read as a number in base `alphabet`, plus the number of shorter words.
// Memory: 16 bytes per distinct word of a sequence, twice that while counting.
WordCounts count_words(const Sequences& sequences, const WordRule& words);

// The keys of all words, of one sequence after the other; of each the shortest words first, all in the order in which
// they begin, then those of the other strand.
std::vector<Key> list_words(const Sequences& sequences, const WordRule& words);

// The distinct keys of some data, numbered in ascending order.
class Vocabulary {
  public:
    Vocabulary(const Key* keys, Index count);
    Index size() const { return size_; }
    // The number of a key, or -1.
    std::int32_t find(Key key) const;
    // The same for many.
    void find(const Key* keys, Index count, std::int32_t* out) const;

  private:
    // Where the largest key is not too large, one bit per possible key, and how many are set before each word of bits;
    // else a table of keys with open addressing.
    Index size_ = 0;
    std::vector<std::uint64_t> bits_;
    std::vector<std::uint32_t> before_;
    std::vector<Key> slots_;
    std::vector<std::int32_t> number_;
};

} // namespace mercer
