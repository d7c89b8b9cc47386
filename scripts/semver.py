#!/usr/bin/env python3
"""Which changes of the public interfaces break users, by the goldens in tests/golden/api at the last release.

    scripts/semver.py [BASELINE]    a tag or commit; without one the newest tag v*, else what BASELINE below says

Fails where something breaks and the version does not say so. Before the first tag there are no users to break: then it
lists. An addition to a trait is listed as one that may break, since the goldens do not say whether it has a default.
"""

import pathlib
import re
import subprocess
import sys

# the state that is compared with before the first tag
BASELINE = "cfdf98c"
FOLDER = "tests/golden/api"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*args):
    found = subprocess.run(["git", "-C", str(ROOT), *args], capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else None


def parts(line):
    """Of an item: derived traits, other attributes that users feel, and the rest, where `const` of a function is dropped."""
    derives, told = set(), set()
    while found := re.match(r"#\[((?:[^\[\]]|\[[^\]]*\])*)\] ?", line):
        attribute, line = found[1], line[found.end():]
        if attribute.startswith("derive("):
            derives |= {name.strip() for name in attribute[7:-1].split(",")}
        elif not attribute.startswith("must_use"):
            told.add(attribute)
    return derives, told, re.sub(r"\bconst (unsafe )?fn\b", r"\1fn", line)


def variants(text):
    """Name and body of each variant or field of an enum or struct's text."""
    depth, name, found = 0, "", []
    for char in text[text.find("{") + 1 : text.rfind("}")]:
        depth += (char in "({[<") - (char in ")}]>")
        if char == "," and depth == 0:
            found.append(name.strip())
            name = ""
        else:
            name += char
    return {item for item in [*found, name.strip()] if item}


def is_kept(old, lines):
    """Whether users of this item can use one of these as well."""
    derives, told, text = parts(old)
    for line in lines:
        now_derives, now_told, now = parts(line)
        if not derives <= now_derives or told != now_told:
            continue
        if text == now:
            return True
        open_ended = "non_exhaustive" in told and text.split("{")[0] == now.split("{")[0]
        if open_ended and "{" in text and variants(text) <= variants(now):
            return True
    return False


def compare(old, new):
    """Lines that break, lines that may, and how many are new."""
    old, new = set(old.splitlines()), set(new.splitlines())
    gone, come = sorted(old - new), sorted(new - old)
    breaking = [line for line in gone if not is_kept(line, come)]
    traits = {line.split(": fn ")[0] for line in old if parts(line)[2].startswith("trait ")}
    is_in_trait = lambda line: parts(line)[2].startswith("trait ") and line.split(": fn ")[0] in traits
    return breaking, [line for line in come if is_in_trait(line) and line not in traits], len(come)


def shorten(line, new):
    """A line, or of an enum or struct that is there still, what is gone or changed of it."""
    head = parts(line)[2].split("{")[0]
    now = [other for other in new if parts(other)[2].split("{")[0] == head]
    if "{" not in line or not now:
        return line
    gone = variants(parts(line)[2]) - variants(parts(now[0])[2])
    come = variants(parts(now[0])[2]) - variants(parts(line)[2])
    return f"{head.strip()}: {', '.join(sorted(gone)) or 'attributes'}; new are {', '.join(sorted(come)) or 'none'}"


def version(manifest):
    return [int(number) for number in re.search(r'^version = "(\d+)\.(\d+)\.(\d+)"', manifest, re.M).groups()]


def self_test():
    old = "#[must_use] fn f()\n#[derive(Debug)] #[non_exhaustive] enum E { A, B { x: u8, }, }\ntrait T: fn g()\nfn gone()"
    new = "const fn f()\n#[derive(Debug, Clone)] #[non_exhaustive] enum E { A, B { x: u8, }, C, }\ntrait T: fn g()\ntrait T: fn h()"
    assert compare(old, new)[:2] == (["fn gone()"], ["trait T: fn h()"]), compare(old, new)
    assert compare("enum E { A, }", "enum E { A, B, }")[0] == ["enum E { A, }"]
    assert compare("#[non_exhaustive] enum E { A { x: u8, }, }", "#[non_exhaustive] enum E { A { x: u16, }, }")[0]
    assert compare("#[derive(Copy)] struct S", "struct S")[0] and not compare("struct S", "#[derive(Copy)] struct S")[0]


def main():
    self_test()
    tag = (git("tag", "--list", "v*", "--sort=-version:refname") or "").split("\n")[0]
    baseline = (sys.argv[1:] or [tag or BASELINE])[0]
    manifest = git("show", f"{baseline}:Cargo.toml")
    if manifest is None:
        print(f"skipped: {baseline} is not in this clone")
        return 0
    before, now = version(manifest), version((ROOT / "Cargo.toml").read_text())
    broken = 0
    for name in git("ls-tree", "--name-only", f"{baseline}:{FOLDER}").split():
        path = ROOT / FOLDER / name
        new = path.read_text() if path.exists() else ""
        breaking, maybe, come = compare(git("show", f"{baseline}:{FOLDER}/{name}"), new)
        broken += len(breaking)
        print(f"{path.stem}: {len(breaking)} breaking, {len(maybe)} perhaps breaking, {come} new lines since {baseline}")
        for what, lines in (("breaking", breaking), ("perhaps", maybe)):
            for line in lines:
                print(f"  {what}: {shorten(line, new.splitlines())}")
    # before 1.0, the second number says it
    says_so = now[0] > before[0] or before[0] == now[0] == 0 and now[1] > before[1]
    if broken and not says_so and (tag or sys.argv[1:]):
        print(f"{broken} breaking changes, and the version went from {before} to {now} only", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
