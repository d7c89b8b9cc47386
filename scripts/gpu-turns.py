#!/usr/bin/env python3
"""Compares two builds on a GPU. Their benchmarks alternate, so that drift of the GPU affects both builds equally.

    scripts/gpu-turns.py OLD NEW [--turns 3] [--out FILE] FILTER ...

OLD and NEW are folders with `ringforge-bench` and, for the filter `ml-kem`, `bench-ml-kem`. A FILTER is a filter of the
command `ringforge-bench bench`; other options of this command may follow it ("'SM2 sign' --quick"). Each turn runs both
builds once. The time of a benchmark is the median of the medians of its turns. Exits with 1 if NEW takes more than 2 % longer than
OLD in a benchmark, if only one side has it, or if nothing can be compared.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

MOST = 1.02


def records(record):
    """Yields (name, seconds) for every measurement of a record (the JSON output of `ringforge-bench bench`)."""
    for line in record["measurements"]:
        parts = (line.get(key, "") for key in ("suite", "case", "operation", "variant", "memory", "batch"))
        yield tuple(str(part) for part in parts if part != ""), line["median_seconds"]


def ml_kem(folder):
    text = subprocess.run([folder / "bench-ml-kem"], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        words = line.split()
        if words and words[0].startswith("ML-KEM-"):
            for op, rate in zip(words[1:-1:2], words[2:-1:2]):
                yield (words[0], op), 1 / float(rate)


def measure(folder, wanted):
    if wanted == "ml-kem":
        return dict(ml_kem(folder))
    name, *more = shlex.split(wanted)
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "bench.json"
        command = [folder / "ringforge-bench", "bench", "--device", "cuda", "--filter", name, *more, "--out", out]
        subprocess.run(command, check=True, capture_output=True)
        return dict(records(json.loads(out.read_text())))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("old", type=pathlib.Path)
    arguments.add_argument("new", type=pathlib.Path)
    arguments.add_argument("filters", nargs="+")
    arguments.add_argument("--turns", type=int, default=3)
    arguments.add_argument("--out", type=pathlib.Path)
    options = arguments.parse_args()
    lines = {}
    for wanted in options.filters:
        for _ in range(options.turns):
            for side in ("old", "new"):
                for name, seconds in measure(getattr(options, side), wanted).items():
                    lines.setdefault(name, {"old": [], "new": []})[side].append(seconds)
    table, slower = [], 0
    one_sided = False
    for name, sides in lines.items():
        title = " ".join(name)
        if not sides["old"] or not sides["new"]:
            print(f"only {'new' if sides['new'] else 'old'}: {title}")
            one_sided = True
            continue
        old, new = (statistics.median(sides[side]) for side in ("old", "new"))
        table.append({"line": title, "old_seconds": sides["old"], "new_seconds": sides["new"], "ratio": new / old})
        slower += new / old > MOST
        print(f"{new / old:6.3f}  {old:.4e} -> {new:.4e}  {title}{'  SLOWER' if new / old > MOST else ''}")
    print(f"{len(table)} lines, {slower} more than {MOST - 1:.0%} slower")
    if options.out:
        options.out.write_text(json.dumps(table, indent=1) + "\n")
    return slower > 0 or one_sided or not table


if __name__ == "__main__":
    sys.exit(main())
