"""Times forward NTTs of a torch tensor on the GPU: limbs of 2^16 60-bit residues, as in homomorphic encryption."""

import argparse

import torch

import pyringforge

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=2048)
parser.add_argument("--rounds", type=int, default=50)
arguments = parser.parse_args()

ring = pyringforge.Ring("1152921504606584833 : x^65536 + 1", pyringforge.Engine("cuda"))
x = torch.randint(0, ring.moduli[0], (arguments.batch, ring.degree), dtype=torch.int64, device="cuda")
out = torch.empty_like(x)
ring.ntt(x, "digit_reversed", out=out)  # compiles the program
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
for _ in range(arguments.rounds):
    ring.ntt(x, "digit_reversed", out=out)
end.record()
torch.cuda.synchronize()
nanoseconds = 1e6 * start.elapsed_time(end) / arguments.rounds / arguments.batch
print(f"{ring.engine.device}: {nanoseconds:.0f} ns a row of 2^16, {arguments.batch} at once")
