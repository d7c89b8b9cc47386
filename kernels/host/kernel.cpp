// The kernel of a runner; runner.cpp describes how to compile this file.
#include "shim.hpp"

#include "kernel.hpp"

#include RF_KERNEL_FILE

constexpr rf_host::Kernel rf_host::kernel = rf_host::kernel_of<RF_KERNEL>(RF_KERNEL);

static_assert(rf_host::kernel.words == RF_PORTS + RF_NUMBERS + 2,
              "a kernel must take one pointer per port, the numbers of its source, first and end");
