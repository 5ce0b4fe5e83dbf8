# Whether a scrape each second can be felt: single cached queries at a fixed pace, in rounds with and without a scraper,
# in turns. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

rounds=31
seconds=3
pace=2000
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    rounds=2 seconds=1 isSmoke=true
fi

# The goals: latency with a scraper over latency without, the median of the rounds.
maxMedianRatio=1.02
maxTailRatio=1.05

declare -A pids=()
. Tests/Benchmarks/harness
realtime=

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    compile hit-latency hit-latency.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

start_httpdnsd() {
    free_port
    settings_on_instant_upstream 'server.threads = 1' 'cache.min-ttl = "1h"' 'cache.store = ""' \
        'control.metrics-listen = "127.0.0.1:0"'
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q '^httpdnsd: metrics' "$work/httpdnsd.log"
    page=$(sed -n 's/^httpdnsd: metrics and the status page are at //p' "$work/httpdnsd.log")
}

# Scrapes once a second, until it is killed. The scraper itself costs CPU time: rounds without scrapes run it against a
# port without a listener.
scrape() {
    while true; do
        curl --silent --max-time 1 --output /dev/null "$1" || true
        sleep 1
    done
}

# measure ROUND KIND URL
measure() {
    local scraper figures
    scrape "$3" &
    scraper=$!
    figures=$($realtime "$bin/hit-latency" "$port" www.bench.example "$seconds" "$pace") || fail "no measurement"
    kill "$scraper"
    wait "$scraper" 2>/dev/null || true
    echo "$1 $2 $figures" >>"$work/rounds"
}

# Each round has the other one first.
measure_rounds() {
    local round
    for ((round = 0; round < rounds; round++)); do
        progress "round $((round + 1)) of $rounds ..."
        if ((round % 2)); then
            measure "$round" without http://127.0.0.1:1/metrics
            measure "$round" with "${page}metrics"
        else
            measure "$round" with "${page}metrics"
            measure "$round" without http://127.0.0.1:1/metrics
        fi
    done
    progress ""
}

# median COLUMN KIND: of the rounds; of their ratios for "ratio".
median() {
    awk -v column="$1" -v kind="$2" '
        { value[$2, $1] = $column; rounds[$1] }
        END {
            for (round in rounds)
                print kind == "ratio" ? value["with", round] / value["without", round] : value[kind, round]
        }' "$work/rounds" | sort -n | awk '{ all[NR] = $1 } END { printf "%.3f\n", all[int((NR + 1) / 2)] }'
}

report() {
    local scrapes
    scrapes=$(curl --silent "${page}metrics" | sed -n 's/^httpdnsd_page_requests_total //p')
    echo "$rounds rounds of $seconds s with and without a scrape each second ($scrapes scrapes), $pace cached queries a second"
    printf '%-8s %10s %10s %10s\n' "" "p50 ns" "p99 ns" "p99.9 ns"
    printf '%-8s %10.0f %10.0f %10.0f\n' with "$(median 5 with)" "$(median 6 with)" "$(median 7 with)"
    printf '%-8s %10.0f %10.0f %10.0f\n' without "$(median 5 without)" "$(median 6 without)" "$(median 7 without)"
    echo "lost: $(awk '{ lost += $4 } END { print lost }' "$work/rounds")"
    goal "p50, with over without:" "$(median 5 ratio)" "$maxMedianRatio"
    goal "p99, with over without:" "$(median 6 ratio)" "$maxTailRatio"
    [ "$scrapes" -ge "$rounds" ] || fail "nothing was scraped"
}

[ "$(nproc)" -ge 2 ] || fail "needs two cores: one for the server, one for the load"
install_missing "${build_packages[@]}" curl
build
realtime=$(scheduling || true)
start_instant_upstream
start_httpdnsd
measure_rounds
report
exit "$status"
