// The form in which the runner calls a kernel: a function of 64-bit words, which hold the kernel's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace rf_host {

struct Kernel {
    std::size_t words;  // number of words of all parameters
    void (*call)(const std::uint64_t* words);
};

extern const Kernel kernel;  // the kernel of this program

// Number of 64-bit words of a parameter: a pointer, a number, or a struct of these, which may be empty.
template <class Parameter>
constexpr std::size_t words_of = std::is_empty_v<Parameter> ? 0 : sizeof(Parameter) / 8;

template <class Parameter>
Parameter parameter(const std::uint64_t* words) {
    static_assert(std::is_trivially_copyable_v<Parameter> && (std::is_empty_v<Parameter> || sizeof(Parameter) % 8 == 0),
                  "kernel parameters must be pointers or u64");
    Parameter value;
    if constexpr (!std::is_empty_v<Parameter>) std::memcpy(&value, words, sizeof value);
    return value;
}

// Index of the first word of each parameter, followed by the number of words of all parameters.
template <class... Parameter>
struct Places {
    std::size_t at[sizeof...(Parameter) + 1] = {};

    constexpr Places() {
        std::size_t i = 0;
        ((at[i + 1] = at[i] + words_of<Parameter>, i++), ...);
    }
};

template <auto function, class... Parameter, std::size_t... I>
constexpr Kernel kernel_of(void (*)(Parameter...), std::index_sequence<I...>) {
    constexpr Places<Parameter...> places;
    return {places.at[sizeof...(I)], [](const std::uint64_t* words) {
                constexpr Places<Parameter...> places;
                function(parameter<Parameter>(words + places.at[I])...);
            }};
}

template <auto function, class... Parameter>
constexpr Kernel kernel_of(void (*parameters)(Parameter...)) {
    return kernel_of<function>(parameters, std::index_sequence_for<Parameter...>());
}

}  // namespace rf_host
