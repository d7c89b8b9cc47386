// A kernel as the runner calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rf_host {

struct Kernel {
    std::size_t pointers;  // parameters before first and end
    void (*call)(unsigned char* const* buffers, std::uint64_t first, std::uint64_t end);
};

extern const Kernel kernel;  // the one that this program runs

template <auto function, class... Parameter, std::size_t... Index>
constexpr Kernel kernel_of(void (*)(Parameter...), std::index_sequence<Index...>) {
    using Parameters = std::tuple<Parameter...>;
    constexpr std::size_t pointers = sizeof...(Index);
    static_assert((std::is_pointer_v<std::tuple_element_t<Index, Parameters>> && ...), "a kernel takes pointers, then first and end");
    static_assert(sizeof(std::tuple_element_t<pointers, Parameters>) == 8 && sizeof(std::tuple_element_t<pointers + 1, Parameters>) == 8,
                  "first and end are u64");
    return {pointers, [](unsigned char* const* buffers, std::uint64_t first, std::uint64_t end) {
                function(reinterpret_cast<std::tuple_element_t<Index, Parameters>>(buffers[Index])..., first, end);
            }};
}

template <auto function, class... Parameter>
constexpr Kernel kernel_of(void (*parameters)(Parameter...)) {
    static_assert(sizeof...(Parameter) >= 2, "a kernel takes pointers, then first and end");
    return kernel_of<function>(parameters, std::make_index_sequence<sizeof...(Parameter) - 2>());
}

}  // namespace rf_host
