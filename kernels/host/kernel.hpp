// A kernel as the runner calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rf_host {

struct Kernel {
    std::size_t pointers, numbers;  // parameters before first and end
    void (*call)(unsigned char* const* buffers, const std::uint64_t* numbers, std::uint64_t first, std::uint64_t end);
};

extern const Kernel kernel;  // the one that this program runs

template <auto function, class... Parameter, std::size_t... Pointer, std::size_t... Number>
constexpr Kernel kernel_of(void (*)(Parameter...), std::index_sequence<Pointer...>, std::index_sequence<Number...>) {
    using Parameters = std::tuple<Parameter...>;
    constexpr std::size_t pointers = sizeof...(Pointer);
    static_assert((std::is_pointer_v<std::tuple_element_t<Pointer, Parameters>> && ...), "a kernel takes pointers, then numbers");
    static_assert(((sizeof(std::tuple_element_t<pointers + Number, Parameters>) == 8) && ...), "numbers are u64");
    return {pointers, sizeof...(Number),
            [](unsigned char* const* buffers, const std::uint64_t* numbers, std::uint64_t first, std::uint64_t end) {
                (void)numbers;
                function(reinterpret_cast<std::tuple_element_t<Pointer, Parameters>>(buffers[Pointer])..., numbers[Number]..., first, end);
            }};
}

template <auto function, class... Parameter>
constexpr Kernel kernel_of(void (*parameters)(Parameter...)) {
    constexpr std::size_t count = sizeof...(Parameter), pointers = (std::is_pointer_v<Parameter> + ... + 0);
    static_assert(count >= pointers + 2, "a kernel takes pointers, numbers, then first and end");
    return kernel_of<function>(parameters, std::make_index_sequence<pointers>(), std::make_index_sequence<count - pointers - 2>());
}

}  // namespace rf_host
