# For scripts of several steps, to be sourced: prints the name of each step and the time spent so far.
#
#   step NAME

clock=$(mktemp)
trap 'rm -f "$clock"' EXIT

step() {
    # the second line has the times of ended children; written to a file, since a pipe would be a shell of its own
    times >"$clock"
    awk -v step="$1" -v seconds="$SECONDS" '
        function in_seconds(time, parts) { split(time, parts, "m"); return 60 * parts[1] + parts[2] }
        NR == 2 { printf "\n== %s (after %d s, %d s of CPU)\n", step, seconds, in_seconds($1) + in_seconds($2) }' "$clock"
}
