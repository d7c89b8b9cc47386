// Runs a thread block, or the blocks of a cluster, on the CPU: threads are fibers that run one at a time, each until
// its next barrier.
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

// The set of threads that a barrier waits for: the lanes of a mask, a block, or all blocks of a cluster. Deadlocks are
// reported in this order, because the first is closest to the cause.
enum class Scope { warp, block, cluster };

// The identity of a barrier: all threads of a scope must reach the same operation on the same line.
struct Meeting {
    const char* what;
    Site site;
    Scope scope;
    std::uint32_t mask;

    friend bool operator==(const Meeting& a, const Meeting& b) {
        const auto same = [](const char* x, const char* y) { return x == y || std::strcmp(x, y) == 0; };
        return a.scope == b.scope && a.mask == b.mask && a.site.line == b.site.line && same(a.what, b.what) &&
               same(a.site.file, b.site.file);
    }

    std::string text() const {
        char mask_text[24] = "";
        if (scope == Scope::warp) std::snprintf(mask_text, sizeof mask_text, " with mask 0x%08x", mask);
        return what + std::string(mask_text) + " " + rf_host::text(site);
    }
};

// A pending asynchronous copy to shared memory.
struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
};

class Cluster {
   public:
    // Runs consecutive blocks, starting with block `first`, of blockDim.x threads each; every thread calls `body`.
    Outcome run(std::uint32_t first, const std::vector<unsigned char*>& shared, std::size_t shared_bytes, Schedule& schedule,
                const std::function<void()>& body);

    // Called by a thread: waits until every thread of the block has arrived.
    void meet_block(const char* what, Site site);

    // Called by a thread: waits until every lane of the mask has arrived. The thread gives a value and receives the
    // value that the lane `source` gave.
    Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source);

    // Called by a thread: arrives at the cluster's barrier; waits until all threads have arrived.
    void arrive(Site site);
    void wait_for_all(Site site);

    // Called by a thread: returns the address in another block's shared memory that corresponds to `address`.
    void* map(void* address, std::uint32_t block);

    // Called by a thread: starts a copy; waits for all copies that this thread started.
    void copy_later(const Copy& copy);
    void await_copies();

    // Called by a thread: ends the run of these blocks with an error.
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
        std::uint32_t arrivals = 0, waits = 0;  // at the cluster's barrier
        std::vector<Copy> copies;

        bool waits_at(const Meeting& other) const { return state == State::waiting && meeting == other; }
    };

    static void thread_main();
    void wait(const Meeting& meeting);
    void release_block_if_complete();
    void release_warp_if_complete();
    void release_cluster();
    void release();
    void find_members(const Meeting& meeting);
    Outcome deadlock();
    std::string stands(std::uint32_t thread) const;
    std::string name(std::uint32_t thread) const;

    std::uint32_t block_of(std::uint32_t thread) const { return thread / blockDim.x; }
    // The first thread of a thread's warp, and the warp's number. Warps do not cross block boundaries.
    std::uint32_t warp_start(std::uint32_t thread) const { return thread - thread % blockDim.x % warpSize; }
    std::uint32_t warp(std::uint32_t thread) const {
        return block_of(thread) * ((blockDim.x + warpSize - 1) / warpSize) + thread % blockDim.x / warpSize;
    }

    std::deque<Thread> threads_;  // grows as needed; the first count_ are in use, block after block
    std::uint32_t count_ = 0;
    std::uint32_t current_ = 0;
    std::uint32_t first_ = 0;  // number of the first block in the grid
    std::vector<unsigned char*> shared_;  // of each block
    std::size_t shared_bytes_ = 0;
    std::vector<std::uint32_t> at_block_barrier_;  // for each block, its threads that wait at a block barrier
    std::uint32_t arrived_ = 0, completed_ = 0;  // cluster barrier: arrivals since it last completed, and completions
    std::vector<std::uint32_t> warp_waits_;  // for each warp, its lanes that wait at a warp barrier
    std::vector<std::uint32_t> members_;     // threads of the current meeting
    Turns turns_;
    Context scheduler_;
    const std::function<void()>* body_ = nullptr;
    Outcome outcome_;
};

Cluster cluster;  // the cluster that is running

Outcome Cluster::run(std::uint32_t first, const std::vector<unsigned char*>& shared, std::size_t shared_bytes,
                     Schedule& schedule, const std::function<void()>& body) {
    count_ = static_cast<std::uint32_t>(shared.size()) * blockDim.x;
    first_ = first;
    shared_ = shared;
    shared_bytes_ = shared_bytes;
    body_ = &body;
    outcome_ = {};
    arrived_ = completed_ = 0;
    at_block_barrier_.assign(shared.size(), 0);
    warp_waits_.assign(warp(count_ - 1) + 1, 0);
    while (threads_.size() < count_) threads_.emplace_back();
    for (std::uint32_t t = 0; t < count_; t++) {
        threads_[t].state = State::running;
        threads_[t].arrivals = threads_[t].waits = 0;
        threads_[t].copies.clear();
        threads_[t].fiber.start(thread_main);
    }
    turns_.begin(count_, schedule);
    while (!turns_.empty() && outcome_.ok()) {
        current_ = turns_.take();
        threadIdx.x = current_ % blockDim.x;
        blockIdx.x = first_ + block_of(current_);
        shared_memory = shared_[block_of(current_)];
        scheduler_.switch_to(threads_[current_].fiber);
    }
    if (outcome_.ok()) outcome_ = deadlock();
    if (!outcome_.ok()) {
        turns_.clear();
        for (std::uint32_t t = 0; t < count_; t++) threads_[t].fiber.abandon();
    }
    return outcome_;
}

void Cluster::thread_main() {
    Fiber::started(cluster.scheduler_);
    (*cluster.body_)();
    Thread& self = cluster.threads_[cluster.current_];
    if (self.arrivals != self.waits) cluster.fail(Status::cluster_barrier, "exits without waiting at its cluster's barrier");
    if (!self.copies.empty()) cluster.fail(Status::copies, "exits before its copies to shared memory are complete");
    self.state = State::exited;
    self.fiber.leave_to(cluster.scheduler_);
}

void Cluster::fail(Status status, const std::string& message) {
    outcome_ = {status, name(current_) + ": " + message};
    threads_[current_].fiber.leave_to(scheduler_);
}

void Cluster::meet_block(const char* what, Site site) {
    at_block_barrier_[block_of(current_)]++;
    wait({what, site, Scope::block, 0});
}

void Cluster::arrive(Site site) {
    Thread& self = threads_[current_];
    if (self.arrivals != self.waits)
        fail(Status::cluster_barrier, "arrives at its cluster's barrier twice without waiting " + rf_host::text(site));
    self.arrivals++;
    if (++arrived_ < count_) return;
    arrived_ = 0;
    completed_++;
    release_cluster();
}

void Cluster::wait_for_all(Site site) {
    Thread& self = threads_[current_];
    if (self.arrivals == self.waits)
        fail(Status::cluster_barrier, "waits at its cluster's barrier without having arrived " + rf_host::text(site));
    if (++self.waits > completed_) wait({"__cluster_barrier_wait", site, Scope::cluster, 0});
}

void* Cluster::map(void* address, std::uint32_t block) {
    const std::uint32_t own = block_of(current_);
    auto* byte = static_cast<unsigned char*>(address);
    if (block >= shared_.size()) fail(Status::cluster, "maps memory of block " + std::to_string(block) + ", which is not in its cluster");
    if (byte < shared_[own] || byte > shared_[own] + shared_bytes_) fail(Status::cluster, "maps an address outside its block's shared memory");
    if (block != own && completed_ == 0) fail(Status::cluster, "maps memory of a block that may not have started");
    for (std::uint32_t t = block * blockDim.x; t < (block + 1) * blockDim.x; t++)
        if (threads_[t].state == State::exited) fail(Status::cluster, "maps memory of a block in which " + name(t) + " has exited");
    return shared_[block] + (byte - shared_[own]);
}

void Cluster::copy_later(const Copy& copy) {
    std::memset(copy.to, 0xa5, copy.bytes);
    threads_[current_].copies.push_back(copy);
}

void Cluster::await_copies() {
    std::vector<Copy>& copies = threads_[current_].copies;
    for (const Copy& copy : copies) std::memcpy(copy.to, copy.from, copy.bytes);
    copies.clear();
}

Taken Cluster::meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source) {
    const Meeting meeting{what, site, Scope::warp, mask};
    const std::uint32_t lanes_in_warp = blockDim.x - warp_start(current_) % blockDim.x;
    if ((mask >> lane() & 1) == 0) fail(Status::warp_barrier, "is missing from the mask of its own " + meeting.text());
    if (lanes_in_warp < warpSize && mask >> lanes_in_warp != 0)
        fail(Status::warp_barrier, meeting.text() + " names lanes outside the block of " + std::to_string(blockDim.x) + " threads");
    Thread& self = threads_[current_];
    self.given = given;
    self.source = source;
    warp_waits_[warp(current_)] |= 1u << lane();
    wait(meeting);
    return self.taken;
}

// Suspends the current thread. The last thread to arrive marks all threads of the barrier, itself included, as
// runnable.
void Cluster::wait(const Meeting& meeting) {
    Thread& self = threads_[current_];
    self.state = State::waiting;
    self.meeting = meeting;
    if (meeting.scope == Scope::block) release_block_if_complete();
    if (meeting.scope == Scope::warp) release_warp_if_complete();
    self.fiber.switch_to(scheduler_);
}

void Cluster::find_members(const Meeting& meeting) {
    members_.clear();
    if (meeting.scope == Scope::warp) {
        const std::uint32_t base = warp_start(current_);
        for (std::uint32_t rest = meeting.mask; rest != 0; rest &= rest - 1)
            members_.push_back(base + static_cast<std::uint32_t>(__builtin_ctz(rest)));
    } else {
        const std::uint32_t own = block_of(current_) * blockDim.x;
        const bool all = meeting.scope == Scope::cluster;
        for (std::uint32_t t = all ? 0 : own; t < (all ? count_ : own + blockDim.x); t++) members_.push_back(t);
    }
}

void Cluster::release_block_if_complete() {
    std::uint32_t& waits = at_block_barrier_[block_of(current_)];
    if (waits < blockDim.x) return;
    const Meeting& meeting = threads_[current_].meeting;
    find_members(meeting);
    for (std::uint32_t t : members_)
        if (!threads_[t].waits_at(meeting)) return;
    waits = 0;
    release();
}

void Cluster::release_cluster() {
    members_.clear();
    for (std::uint32_t t = 0; t < count_; t++)
        if (threads_[t].state == State::waiting && threads_[t].meeting.scope == Scope::cluster) members_.push_back(t);
    release();
}

void Cluster::release_warp_if_complete() {
    const Meeting& meeting = threads_[current_].meeting;
    std::uint32_t& waits = warp_waits_[warp(current_)];
    if ((waits & meeting.mask) != meeting.mask) return;
    find_members(meeting);
    std::uint32_t ballot = 0;
    for (std::uint32_t t : members_) {
        if (!threads_[t].waits_at(meeting)) return;
        if (threads_[t].given != 0) ballot |= 1u << (t - warp_start(t));
    }
    const std::uint32_t base = warp_start(current_);
    for (std::uint32_t t : members_) threads_[t].taken = {threads_[base + threads_[t].source].given, ballot};
    waits &= ~meeting.mask;
    release();
}

void Cluster::release() {
    for (std::uint32_t t : members_) threads_[t].state = State::running;
    turns_.release(members_);
}

// Called when no thread can run: either all have exited, or some wait at a barrier that will not complete. Warp
// barriers are examined first, because they are closest to the cause.
Outcome Cluster::deadlock() {
    constexpr Status statuses[] = {Status::warp_barrier, Status::block_barrier, Status::cluster_barrier};
    for (const Scope scope : {Scope::warp, Scope::block, Scope::cluster}) {
        for (current_ = 0; current_ < count_; current_++) {
            const Thread& thread = threads_[current_];
            if (thread.state != State::waiting || thread.meeting.scope != scope) continue;
            find_members(thread.meeting);
            for (std::uint32_t other : members_) {
                // a thread that has arrived at the cluster's barrier may reach other barriers before it waits there
                const bool is_there = scope == Scope::cluster ? threads_[other].arrivals > completed_ : threads_[other].waits_at(thread.meeting);
                if (is_there) continue;
                return {statuses[static_cast<int>(scope)],
                        name(current_) + " " + stands(current_) + " for " + name(other) + ", which " + stands(other)};
            }
        }
    }
    return {};
}

std::string Cluster::name(std::uint32_t thread) const {
    const std::string within = "thread " + std::to_string(thread % blockDim.x);
    return shared_.size() == 1 ? within : within + " of block " + std::to_string(block_of(thread));
}

std::string Cluster::stands(std::uint32_t thread) const {
    if (threads_[thread].state == State::exited) return "has exited";
    return "waits at " + threads_[thread].meeting.text();
}

}  // namespace

Outcome run_threads(std::uint32_t first, const std::vector<unsigned char*>& shared, std::size_t shared_bytes,
                    Schedule& schedule, const std::function<void()>& body) {
    return cluster.run(first, shared, shared_bytes, schedule, body);
}

void meet_block(const char* what, Site site) { cluster.meet_block(what, site); }

void arrive_at_cluster(Site site) { cluster.arrive(site); }

void wait_for_cluster(Site site) { cluster.wait_for_all(site); }

void copy_later(void* shared, const void* from, std::size_t bytes) { cluster.copy_later({shared, from, bytes}); }

void await_copies() { cluster.await_copies(); }

void* in_block(void* address, std::uint32_t block) { return cluster.map(address, block); }

Taken meet_warp(const char* what, Site site, std::uint32_t mask, std::uint64_t given, std::uint32_t source) {
    return cluster.meet_warp(what, site, mask, given, source);
}

void refuse_width(const char* what, Site site, int width) {
    cluster.fail(Status::shuffle, what + std::string(" ") + text(site) + " has width " + std::to_string(width) +
                                    ", which is not 1, 2, 4, 8, 16 or 32");
}

void refuse_source(const char* what, Site site, std::uint32_t mask, std::uint32_t source) {
    cluster.fail(Status::shuffle, Meeting{what, site, Scope::warp, mask}.text() + " reads lane " + std::to_string(source) +
                                    ", which is not in the mask");
}

}  // namespace rf_host
