// A thread block: its threads are fibers that run one at a time, each until its next barrier.
#include "block.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "grid.hpp"
#include "meeting.hpp"
#include "outcome.hpp"
#include "schedule.hpp"

namespace rf_host {
namespace {

std::string text(Site site) { return std::string("(") + site.file + ":" + std::to_string(site.line) + ")"; }

// What a thread waits for: all threads of the block, or the lanes of a mask, at the same operation on the same line.
struct Meeting {
    const char* what;
    Site site;
    bool whole_block;
    std::uint32_t mask;

    friend bool operator==(const Meeting& a, const Meeting& b) {
        const auto same = [](const char* x, const char* y) { return x == y || std::strcmp(x, y) == 0; };
        return a.whole_block == b.whole_block && a.mask == b.mask && a.site.line == b.site.line && same(a.what, b.what) &&
               same(a.site.file, b.site.file);
    }

    std::string text() const {
        char mask_text[24] = "";
        if (!whole_block) std::snprintf(mask_text, sizeof mask_text, " with mask 0x%08x", mask);
        return what + std::string(mask_text) + " " + rf_host::text(site);
    }
};

class Block {
   public:
    // Runs one block of blockDim.x threads, each of which calls `body`.
    Outcome run(Schedule& schedule, const std::function<void()>& body);

    // Called by a thread: waits until every thread of the block is here.
    void meet_block(const char* what, Site site);

    // Called by a thread: waits until every lane of the mask is here; gives a value and takes that of the lane `source`.
    Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source);

    // Called by a thread: ends the block.
    [[noreturn]] void fail(Status status, const std::string& message);

   private:
    enum class State { running, waiting, exited };
    struct Thread {
        Fiber fiber;
        State state = State::running;
        Meeting meeting{};
        std::uint64_t given = 0;
        std::uint32_t source = 0;
        Taken taken;

        bool waits_at(const Meeting& other) const { return state == State::waiting && meeting == other; }
    };

    static void thread_main();
    void wait(const Meeting& meeting);
    void release_block_if_complete();
    void release_warp_if_complete();
    void release();
    void find_members(const Meeting& meeting);
    Outcome deadlock();
    std::string stands(std::uint32_t thread) const;

    std::deque<Thread> threads_;  // grows to the largest block; the first count_ are in use
    std::uint32_t count_ = 0;
    std::uint32_t current_ = 0;
    std::uint32_t at_block_barrier_ = 0;
    std::vector<std::uint32_t> warp_waits_;  // for each warp, the lanes that wait for others of it
    std::vector<std::uint32_t> members_;     // of the meeting at hand
    Turns turns_;
    Context scheduler_;
    const std::function<void()>* body_ = nullptr;
    Outcome outcome_;
};

Block block;  // the one that runs

Outcome Block::run(Schedule& schedule, const std::function<void()>& body) {
    count_ = blockDim.x;
    body_ = &body;
    outcome_ = {};
    at_block_barrier_ = 0;
    warp_waits_.assign((count_ + warpSize - 1) / warpSize, 0);
    while (threads_.size() < count_) threads_.emplace_back();
    for (std::uint32_t t = 0; t < count_; t++) {
        threads_[t].state = State::running;
        threads_[t].fiber.start(thread_main);
    }
    turns_.begin(count_, schedule);
    while (!turns_.empty() && outcome_.ok()) {
        current_ = threadIdx.x = turns_.take();
        scheduler_.switch_to(threads_[current_].fiber);
    }
    if (outcome_.ok()) outcome_ = deadlock();
    if (!outcome_.ok()) {
        turns_.clear();
        for (std::uint32_t t = 0; t < count_; t++) threads_[t].fiber.abandon();
    }
    return outcome_;
}

void Block::thread_main() {
    Fiber::started(block.scheduler_);
    (*block.body_)();
    Thread& self = block.threads_[block.current_];
    self.state = State::exited;
    self.fiber.leave_to(block.scheduler_);
}

void Block::fail(Status status, const std::string& message) {
    outcome_ = {status, "thread " + std::to_string(current_) + ": " + message};
    threads_[current_].fiber.leave_to(scheduler_);
}

void Block::meet_block(const char* what, Site site) {
    at_block_barrier_++;
    wait({what, site, true, 0});
}

Taken Block::meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source) {
    const Meeting meeting{what, site, false, mask};
    const std::uint32_t lanes_in_warp = count_ - current_ / warpSize * warpSize;
    if ((mask >> lane() & 1) == 0) fail(Status::warp_barrier, "is not in the mask of its own " + meeting.text());
    if (lanes_in_warp < warpSize && mask >> lanes_in_warp != 0)
        fail(Status::warp_barrier, meeting.text() + " names lanes outside the block of " + std::to_string(count_) + " threads");
    Thread& self = threads_[current_];
    self.given = given;
    self.source = source;
    warp_waits_[current_ / warpSize] |= 1u << lane();
    wait(meeting);
    return self.taken;
}

// Suspends the current thread. The last to arrive releases the others and itself, and also goes back into the order.
void Block::wait(const Meeting& meeting) {
    Thread& self = threads_[current_];
    self.state = State::waiting;
    self.meeting = meeting;
    if (meeting.whole_block) {
        release_block_if_complete();
    } else {
        release_warp_if_complete();
    }
    self.fiber.switch_to(scheduler_);
}

void Block::find_members(const Meeting& meeting) {
    members_.clear();
    if (meeting.whole_block) {
        for (std::uint32_t t = 0; t < count_; t++) members_.push_back(t);
    } else {
        const std::uint32_t base = current_ / warpSize * warpSize;
        for (std::uint32_t rest = meeting.mask; rest != 0; rest &= rest - 1)
            members_.push_back(base + static_cast<std::uint32_t>(__builtin_ctz(rest)));
    }
}

void Block::release_block_if_complete() {
    if (at_block_barrier_ < count_) return;
    const Meeting& meeting = threads_[current_].meeting;
    find_members(meeting);
    for (std::uint32_t t : members_)
        if (!threads_[t].waits_at(meeting)) return;
    at_block_barrier_ = 0;
    release();
}

void Block::release_warp_if_complete() {
    const Meeting& meeting = threads_[current_].meeting;
    std::uint32_t& waits = warp_waits_[current_ / warpSize];
    if ((waits & meeting.mask) != meeting.mask) return;
    find_members(meeting);
    std::uint32_t ballot = 0;
    for (std::uint32_t t : members_) {
        if (!threads_[t].waits_at(meeting)) return;
        if (threads_[t].given != 0) ballot |= 1u << t % warpSize;
    }
    const std::uint32_t base = current_ / warpSize * warpSize;
    for (std::uint32_t t : members_) threads_[t].taken = {threads_[base + threads_[t].source].given, ballot};
    waits &= ~meeting.mask;
    release();
}

void Block::release() {
    for (std::uint32_t t : members_) threads_[t].state = State::running;
    turns_.release(members_);
}

// Nobody can run: either all have exited, or some wait for what never comes. Warps are asked first, for they are closer to the cause.
Outcome Block::deadlock() {
    for (const bool whole_block : {false, true}) {
        for (current_ = 0; current_ < count_; current_++) {
            const Thread& thread = threads_[current_];
            if (thread.state != State::waiting || thread.meeting.whole_block != whole_block) continue;
            find_members(thread.meeting);
            for (std::uint32_t other : members_) {
                if (threads_[other].waits_at(thread.meeting)) continue;
                return {whole_block ? Status::block_barrier : Status::warp_barrier,
                        "thread " + std::to_string(current_) + " " + stands(current_) + " for thread " + std::to_string(other) +
                            ", which " + stands(other)};
            }
        }
    }
    return {};
}

std::string Block::stands(std::uint32_t thread) const {
    if (threads_[thread].state == State::exited) return "has exited";
    return "waits at " + threads_[thread].meeting.text();
}

}  // namespace

Outcome run_threads(Schedule& schedule, const std::function<void()>& body) { return block.run(schedule, body); }

void meet_block(const char* what, Site site) { block.meet_block(what, site); }

Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source) {
    return block.meet_warp(what, site, mask, given, source);
}

void refuse_width(const char* what, Site site, int width) {
    block.fail(Status::shuffle, what + std::string(" ") + text(site) + " has width " + std::to_string(width) +
                                    ", which is not 1, 2, 4, 8, 16 or 32");
}

void refuse_source(const char* what, Site site, std::uint32_t mask, std::uint32_t source) {
    block.fail(Status::shuffle, Meeting{what, site, false, mask}.text() + " reads lane " + std::to_string(source) +
                                    ", which is not in the mask");
}

}  // namespace rf_host
