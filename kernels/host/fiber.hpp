// Fibers: functions with separate stacks, between which one thread of the operating system switches.
//
// The switch is written in assembly for x86-64 and aarch64 (System V and AAPCS64: only callee-saved registers live
// across a call). On other processors, and with RF_HOST_UCONTEXT, it uses ucontext. Include this file in one
// translation unit only: the switch is a global symbol.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "asan.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__) && !defined(RF_HOST_UCONTEXT)
#define RF_HOST_UCONTEXT 1
#endif

#if defined(RF_HOST_UCONTEXT)
#include <ucontext.h>
#else
// Pushes the callee-saved registers and saves the stack pointer in *from; then restores both from the stack `to`.
extern "C" void rf_host_switch(void*** from, void** to) asm("rf_host_switch");

#if defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .globl rf_host_switch
rf_host_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
)");
#else
asm(R"(
    .text
    .p2align 4
    .globl rf_host_switch
rf_host_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
#endif
#endif

namespace rf_host {

using Entry = void (*)();

// The point at which a suspended stack continues.
class Position {
   public:
#if defined(RF_HOST_UCONTEXT)
    void begin(std::byte* bottom, std::size_t bytes, Entry entry) {
        getcontext(&registers_);
        registers_.uc_stack.ss_sp = bottom;
        registers_.uc_stack.ss_size = bytes;
        registers_.uc_link = nullptr;
        makecontext(&registers_, entry, 0);
    }
    void jump(Position& to) { swapcontext(&registers_, &to.registers_); }

   private:
    ucontext_t registers_;
#else
    void begin(std::byte* bottom, std::size_t bytes, Entry entry) {
        top_ = reinterpret_cast<void**>(bottom + bytes) - frame_words;
        for (int i = 0; i < frame_words; i++) top_[i] = nullptr;
        top_[entry_word] = reinterpret_cast<void*>(entry);
    }
    void jump(Position& to) { rf_host_switch(&top_, to.top_); }

   private:
    void** top_ = nullptr;
#if defined(__x86_64__)
    // Six registers, the entry, and a null return address: on entry, a function's stack pointer is 8 bytes off a
    // multiple of 16.
    static constexpr int frame_words = 8, entry_word = 6;
#else
    static constexpr int frame_words = 20, entry_word = 11;  // the entry is x30
#endif
#endif
};

// One side of a switch: the stack of the operating system's thread, or that of a fiber.
struct Context {
    Position position;
    const void* bottom = nullptr;  // bounds and fake stack, for AddressSanitizer
    std::size_t bytes = 0;
    void* fake = nullptr;

    // Runs the context `to` until it switches back to this context. Each context is entered from only one other
    // context, so it is `to` that switches back.
    void switch_to(Context& to) {
        asan::leave(&fake, to.bottom, to.bytes);
        position.jump(to.position);
        asan::arrive(fake, &to.bottom, &to.bytes);
    }

    // Switches to `to` and never returns. Not inlined, because the sanitizer clears the stack frames of the caller of a
    // function that does not return.
    [[noreturn, gnu::noinline]] void leave_to(Context& to) {
        asan::leave(nullptr, to.bottom, to.bytes);
        position.jump(to.position);
        __builtin_unreachable();
    }
};

// A context with a stack that is mapped once and used by many runs; an overflow of the stack faults.
class Fiber : public Context {
   public:
    Fiber() {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* mapping = mmap(nullptr, guard_bytes + stack_bytes, PROT_NONE, flags, -1, 0);
        if (mapping == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "a fiber's stack");
        stack_ = static_cast<std::byte*>(mapping) + guard_bytes;
        bottom = stack_;
        bytes = stack_bytes;
        if (mprotect(stack_, stack_bytes, PROT_READ | PROT_WRITE) != 0)
            throw std::system_error(errno, std::generic_category(), "a fiber's stack");
    }
    ~Fiber() { munmap(stack_ - guard_bytes, guard_bytes + stack_bytes); }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // The next switch to this fiber calls `entry`, which must first call `started` and must end with `leave_to`.
    void start(Entry entry) {
        position.begin(stack_, stack_bytes, entry);
        fake = nullptr;
    }
    // The first call of an entry function: completes the switch from the context `from`.
    static void started(Context& from) { asan::arrive(nullptr, &from.bottom, &from.bytes); }

    // Discards a suspended run that will not continue.
    void abandon() { asan::forget(bottom, bytes); }

   private:
    static constexpr std::size_t stack_bytes = 256 << 10;
    static constexpr std::size_t guard_bytes = 64 << 10;  // whole pages, for every page size
    std::byte* stack_;
};

}  // namespace rf_host
