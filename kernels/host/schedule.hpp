// The order in which threads run: ascending, descending or random. The same request always gives the same order.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace rf_host {

constexpr std::uint32_t max_threads = 1024;          // in a block
constexpr std::uint32_t max_cluster_threads = 4096;  // in blocks that run at once

// The order of blocks and threads. 0: ascending; 1: descending; any other number is the seed of a random order.
class Schedule {
   public:
    explicit Schedule(std::uint64_t choice) : choice_(choice), state_(choice) {}

    bool random() const { return choice_ > 1; }

    // The numbers below `count`, in the order of this schedule.
    std::vector<std::uint32_t> order(std::uint32_t count) {
        std::vector<std::uint32_t> order(count);
        std::iota(order.begin(), order.end(), 0u);
        if (choice_ == 1) {
            for (std::uint32_t i = 0; i < count; i++) order[i] = count - 1 - i;
        } else if (random()) {
            for (std::uint32_t i = count; i > 1; i--) std::swap(order[i - 1], order[below(i)]);
        }
        return order;
    }

    // A random number below `bound` (splitmix64, high half scaled; its bias of 2^-32 does not matter for a schedule).
    std::uint32_t below(std::uint32_t bound) {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return static_cast<std::uint32_t>(((z ^ (z >> 31)) >> 32) * bound >> 32);
    }

   private:
    std::uint64_t choice_, state_;
};

// The runnable threads, each with a rank: the thread of the lowest rank runs first, whichever warp it belongs to.
//
// Ranks are strict priorities, so a warp that needs no other warp runs as far ahead as it can. A missing barrier
// between two warps then shows even if both warps have warp barriers. With a random schedule, the threads that a
// barrier releases exchange their ranks.
class Turns {
   public:
    void begin(std::uint32_t threads, Schedule& schedule) {
        schedule_ = &schedule;
        thread_at_ = schedule.order(threads);
        rank_of_.resize(threads);
        for (std::uint32_t rank = 0; rank < threads; rank++) {
            rank_of_[thread_at_[rank]] = rank;
            insert(rank);
        }
    }

    bool empty() const { return nonempty_ == 0; }

    // Removes the runnable thread of the lowest rank and returns it.
    std::uint32_t take() {
        const auto word = static_cast<std::uint32_t>(__builtin_ctzll(nonempty_));
        const auto bit = static_cast<std::uint32_t>(__builtin_ctzll(ready_[word]));
        ready_[word] &= ready_[word] - 1;
        if (ready_[word] == 0) nonempty_ &= nonempty_ - 1;
        return thread_at_[64 * word + bit];
    }

    void release(const std::vector<std::uint32_t>& threads) {
        if (schedule_->random()) exchange_ranks(threads);
        for (std::uint32_t thread : threads) insert(rank_of_[thread]);
    }

    void clear() {
        ready_.fill(0);
        nonempty_ = 0;
    }

   private:
    void insert(std::uint32_t rank) {
        ready_[rank / 64] |= std::uint64_t{1} << rank % 64;
        nonempty_ |= std::uint64_t{1} << rank / 64;
    }

    void exchange_ranks(const std::vector<std::uint32_t>& threads) {
        for (auto i = static_cast<std::uint32_t>(threads.size()); i > 1; i--) {
            const std::uint32_t a = threads[i - 1], b = threads[schedule_->below(i)];
            std::swap(rank_of_[a], rank_of_[b]);
            thread_at_[rank_of_[a]] = a;
            thread_at_[rank_of_[b]] = b;
        }
    }

    Schedule* schedule_ = nullptr;
    std::vector<std::uint32_t> thread_at_, rank_of_;
    std::array<std::uint64_t, max_cluster_threads / 64> ready_{};  // a bit for each rank
    std::uint64_t nonempty_ = 0;                            // bit i is set if ready_[i] is not zero
};

}  // namespace rf_host
