# Runs the benchmarks that have peers, one after the other, and compares their figures: prints one table, and writes
# results.json and results.svg. Started by scripts/bench: all [--smoke] [DIRECTORY].
set -euo pipefail
cd "$(dirname "$0")/../.."

benchmarks=(hit tcp miss memory)
options=()
directory=.build/bench/results
if [ "${1:-}" = --smoke ]; then
    options=(--smoke)
    directory=.build/bench/smoke # figures of tiny sizes must not replace real ones
    shift
fi
directory=${1:-$directory}

mkdir -p "$directory"
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
export BENCH_FIGURES=$lines

status=0
for benchmark in "${benchmarks[@]}"; do
    echo "== $benchmark"
    scripts/bench "$benchmark" "${options[@]}" || status=1
    echo
done

results() { python3 Tests/Benchmarks/results.py "$@"; }
figures=$(results collect "$lines" "${benchmarks[@]}")
echo "$figures" >"$directory/results.json"
results chart "$directory/results.json" >"$directory/results.svg"
results table "$directory/results.json"
echo "written: $directory/results.json, $directory/results.svg"
exit "$status"
