# How many instructions a cache hit, a cache miss without and with a list of names, and the parsing of a reply take, by
# valgrind, over a stored baseline. Started by scripts/bench. UPDATE=1 writes the baseline.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

fewer=1000
more=4000
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    fewer=100 more=200 isSmoke=true
fi

# The goal: instructions over the baseline's.
maxRatio=1.03

baseline=Tests/Benchmarks/instructions.txt
works=(hit miss listed parse)
declare -A pids=()
. Tests/Benchmarks/harness

# count WORK REPETITIONS: instructions of the whole program. The seed of Swift's hash tables is fixed.
count() {
    local report=$work/report
    SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bin/instruction-load" \
        "$1" "$2" >"$report" 2>&1 || fail "$1 failed: $(cat "$report")"
    awk '/Collected : / { count = $NF } END { if (count == "") exit 1; print count }' "$report" ||
        fail "no count for $1: $(cat "$report")"
}

# measure WORK: instructions of one repetition.
measure() {
    local few many
    few=$(count "$1" "$fewer")
    many=$(count "$1" "$more")
    [ "$many" -gt "$few" ] || fail "$1: $more repetitions took no more than $fewer"
    echo "$1 $(((many - few) / (more - fewer)))"
}

report() {
    local name instructions before
    while read -r name instructions; do
        before=$(awk -v name="$name" '$1 == name { print $2 }' "$baseline")
        echo "$name: $instructions instructions, baseline ${before:-none}"
        goal "$name over the baseline:" "$(awk -v now="$instructions" -v before="${before:-0}" \
            'BEGIN { if (before > 0) printf "%.3f\n", now / before }')" "$maxRatio"
    done <"$work/counts"
}

install_missing "${build_packages[@]}" "${bench_packages[@]}"
build_for_valgrind instruction-load
for name in "${works[@]}"; do measure "$name" >>"$work/counts"; done
if [ "${UPDATE:-}" ] && ! $isSmoke; then cp "$work/counts" "$baseline"; fi
report
exit "$status"
