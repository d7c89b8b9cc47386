# For scripts of several steps, to be sourced: says which step begins, and what those before it took.
#
#   step NAME

clock=$(mktemp)
trap 'rm -f "$clock"' EXIT

step() {
    # of this shell's ended children, in the second line; a pipe would be a shell of its own
    times >"$clock"
    awk -v step="$1" -v seconds="$SECONDS" '
        function in_seconds(time, parts) { split(time, parts, "m"); return 60 * parts[1] + parts[2] }
        NR == 2 { printf "\n== %s (after %d s, %d s of CPU)\n", step, seconds, in_seconds($1) + in_seconds($2) }' "$clock"
}
