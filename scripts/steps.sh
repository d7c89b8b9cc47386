# To be sourced by scripts of several steps. Defines a function that prints a step's name and the time spent so far:
#
#   step NAME

clock=$(mktemp)
trap 'rm -f "$clock"' EXIT

step() {
    # `times` prints the times of ended children in its second line. It writes to a file, because in a pipe it would run
    # in a subshell, which has no children.
    times >"$clock"
    awk -v step="$1" -v seconds="$SECONDS" '
        function in_seconds(time, parts) { split(time, parts, "m"); return 60 * parts[1] + parts[2] }
        NR == 2 { printf "\n== %s (after %d s, %d s of CPU)\n", step, seconds, in_seconds($1) + in_seconds($2) }' "$clock"
}
