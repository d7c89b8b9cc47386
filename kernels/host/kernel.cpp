// The kernel of a runner; runner.cpp says how it is compiled.
#include "shim.hpp"

#include "kernel.hpp"

#include RF_KERNEL_FILE

constexpr rf_host::Kernel rf_host::kernel = rf_host::kernel_of<RF_KERNEL>(RF_KERNEL);

static_assert(rf_host::kernel.pointers == RF_PORTS, "a kernel takes one pointer for each port, then numbers, first and end");
static_assert(rf_host::kernel.numbers == RF_NUMBERS, "a kernel takes as many numbers as its source has");
