# How the cost of a query grows: CPU time per query against the number of cache entries, rules, providers, waiting
# lookups and TCP connections. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

rounds=7
hits=150000
misses=8000
tcpHits=8000
declare -A sizes=(
    [entries]="1000 10000 100000 1000000"
    [rules]="1 100 10000 100000"
    [providers]="1 4 16 32"
    [waiting]="1 10 100 1000"
    [waiting-system]="1 10 100 1000"
    [connections]="1 10 100 1000 10000"
)
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    isSmoke=true rounds=1 hits=2000 misses=300 tcpHits=200
    sizes=([entries]="10 300" [rules]="1 300" [providers]="1 3" [waiting]="1 30" [waiting-system]="1 30"
        [connections]="1 30")
fi
dimensions=(entries rules providers waiting waiting-system connections)
[ -z "${DIMENSIONS:-}" ] || read -r -a dimensions <<<"$DIMENSIONS"
declare -A titles=(
    [entries]="hit, by cache entries"
    [rules]="miss, by names in rules"
    [providers]="miss, by providers"
    [waiting]="miss, by lookups that wait for a provider"
    [waiting-system]="miss, by lookups that wait for the system resolver"
    [connections]="hit over TCP, by idle connections"
)

# The goals, over the smallest size. Up to `flatRatio` the row counts as flat. Above that it counts as logarithmic if
# each doubling of the size adds at most `maxPerDoubling` of the first cost, and otherwise as growing.
flatRatio=1.15
maxPerDoubling=0.05

outstanding=24 # queries that are worked on; the lookups that wait are in addition
maxHeldByProvider=64 # below the 100 streams of a connection; the other waiting lookups have no place for their request
maxLookups=1000 # that the load has out together, below httpdnsd's 1,024
declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    compile query-load query-load.c
    compile names-load names-load.c
    compile idle-load idle-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

# MARK: servers
# Each size of a dimension has a server of its own, except for connections. All of them run at the same time.

# start_sized NAME LINE...
start_sized() {
    free_port
    ports[$1]=$port
    start_httpdnsd_as "$1" 'server.threads = 1' "${@:2}"
}

start_entries() {
    start_sized "entries-$1" 'cache.size = "2GiB"' "$no_system_resolver" "$(provider upstream 127.0.0.1)"
    progress "$1 entries ..."
    load "$bin/query-load" "${ports[entries-$1]}" "$1" --fill >/dev/null || fail "the cache was not filled"
}

# One name is the domain of all queries, so that a rule applies to them; the names are short, as a settings file holds
# 1 MiB, and in tables of 1,000.
start_rules() {
    local tables
    tables=$(seq 2 "$1" | awk '
        function name(number,   text) {
            for (text = ""; number > 0; number = int(number / 36)) text = substr(digits, number % 36 + 1, 1) text
            return text
        }
        BEGIN { digits = "0123456789abcdefghijklmnopqrstuvwxyz" }
        NR % 1000 == 1 { printf "%s[[rule]]\nstale = true\nmatch = [", (NR > 1 ? "]\n" : "") }
        { printf "%s\"x%s\"", (NR % 1000 == 1 ? "" : NR % 100 == 1 ? ",\n" : ","), name(NR) }
        END { if (NR > 0) print "]" }')
    start_sized "rules-$1" "$no_system_resolver" $'[[rule]]\nmatch = ["example"]\nstale = true' "$tables" \
        "$(provider upstream 127.0.0.1)"
}

start_providers() {
    start_sized "providers-$1" "$no_system_resolver" \
        "$(for ((number = 1; number <= $1; number++)); do provider "upstream$number" "127.0.1.$number"; done)"
}

# start_holding NAME COUNT: an upstream that always holds COUNT replies, over DNS on port $dns.
start_holding() {
    start "$1" taskset -c 1 "$bin/instant-upstream" --hold "$2"
    await "$1" test -s "$work/$1.log"
    read -r dns _ <"$work/$1.log"
}

start_waiting() {
    local shared=$doh
    start_holding "holding-$1" $(($1 < maxHeldByProvider ? $1 : maxHeldByProvider))
    start_dnsdist_upstream "doh-$1" "newServer({address=\"127.0.0.1:$dns\", name=\"holding\"})" 'getServer(0):setUp()'
    start_sized "waiting-$1" "$no_system_resolver" "$(provider upstream 127.0.0.1)"
    doh=$shared
}

start_waiting-system() {
    start_holding "holding-system-$1" "$1"
    start_sized "waiting-system-$1" "system-resolver.servers = [\"127.0.0.1:$dns\"]" 'only-listed = true' \
        "$(provider upstream 127.0.0.1)"
}

start_connections() {
    if [ -n "${pids[connections]:-}" ]; then return; fi
    start_sized connections "$no_system_resolver" "$(provider upstream 127.0.0.1)"
}

# MARK: measuring

load() { $realtime taskset -c 1 "$@"; }

# measure ROUND DIMENSION-SIZE
measure() {
    local dimension=${2%-*} size=${2##*-} line queries cpu
    case $dimension in
    entries)
        line=$(load "$bin/query-load" "${ports[$2]}" "$size" "$hits" --pid "${pids[$2]}") || fail "$2: no hits"
        queries=$(cut -d ' ' -f 1 <<<"$line") cpu=$(cut -d ' ' -f 4 <<<"$line")
        ;;
    rules | providers) measure_misses "$2" "$outstanding" ;;
    waiting | waiting-system)
        measure_misses "$2" $((size + outstanding < maxLookups ? size + outstanding : maxLookups))
        ;;
    connections)
        line=$(load "$bin/idle-load" "${ports[connections]}" "$size" "$tcpHits" "${pids[connections]}") ||
            fail "$2: no hits"
        read -r queries open cpu <<<"$line"
        echo "$size $open" >>"$work/open"
        sleep 0.2 # until the server has seen the ends of its connections
        ;;
    esac
    [ "$queries" -gt 0 ] || fail "$2: no answers"
    echo "$1 $dimension $size $((cpu / queries))" >>"$work/rounds"
}

# measure_misses SERVER OUTSTANDING: sets `cpu` and `queries`.
measure_misses() {
    local before failed
    before=$(cpu_nanoseconds "$1")
    load "$bin/names-load" "${ports[$1]}" "$next" "$misses" "${pids[$1]}" "$2" >"$work/misses" ||
        fail "$1: no misses: $(tail -n 3 "$work/$1.log")"
    cpu=$(($(cpu_nanoseconds "$1") - before))
    next=$((next + misses))
    read -r queries failed _ < <(tail -n 1 "$work/misses")
    echo "$1 $failed $(awk 'END { print $3 }' "$work/misses")" >>"$work/failed"
}

measure_dimension() {
    local size
    servers=()
    for size in ${sizes[$1]}; do
        "start_$1" "$size"
        servers+=("$1-$size")
    done
    for size in "${servers[@]}"; do measure warm "$size"; done
    in_turns measure
    for size in "${!pids[@]}"; do
        if [ "$size" != upstream ]; then stop "$size"; fi
    done
}

# MARK: report

# row DIMENSION: the title, the verdict, the ratio that is judged and its limit; then each size with its cost and its
# ratio to the smallest. Ratios are medians of the rounds.
row() {
    awk -v dimension="$1" -v flat="$flatRatio" -v perDoubling="$maxPerDoubling" -v title="${titles[$1]}" "$awk_median"'
        $1 == "warm" || $2 != dimension { next }
        { cost[$3, $1] = $4
          if (!($3 in seen)) { seen[$3]; order[++count] = $3 }
          if ($1 + 1 > rounds) rounds = $1 + 1 }
        function ascending(   i, j, value) {
            for (i = 2; i <= count; i++) {
                value = order[i]
                for (j = i - 1; j >= 1 && order[j] > value; j--) order[j + 1] = order[j]
                order[j + 1] = value
            }
        }
        END {
            ascending()
            for (s = 1; s <= count; s++) {
                for (r = 0; r < rounds; r++) {
                    costs[r + 1] = cost[order[s], r]
                    ratios[r + 1] = cost[order[s], r] / cost[order[1], r]
                }
                ratio = median(ratios, rounds)
                if (ratio > worst) { worst = ratio; at = order[s] }
                text = text sprintf("  %s: %.2f (%.2f)", order[s], median(costs, rounds) / 1000, ratio)
            }
            limit = 1 + perDoubling * log(order[count] / order[1]) / log(2)
            verdict = worst <= flat ? "flat" : worst <= limit ? "logarithmic" : "growing"
            printf "%s\t%s\t%.2f\t%.2f\t%s\n", title, verdict, worst, limit, text
        }' "$work/rounds"
}

report() {
    local title verdict worst limit costs
    echo "$rounds rounds; CPU us per query at each size, in brackets over the smallest size; server on core 0"
    for dimension in "${dimensions[@]}"; do
        IFS=$'\t' read -r title verdict worst limit costs < <(row "$dimension")
        printf '%-50s %-12s%s\n' "$title" "$verdict" "$costs"
        echo "$dimension $verdict $worst $limit" >>"$work/table"
    done
    if [ -s "$work/open" ]; then
        echo "idle connections that stayed open, of those opened:" \
            "$(sort -un "$work/open" | sed 's/ /: /' | paste -sd ' ')"
    fi
    echo "misses without an answer: $(awk '{ sum += $2 } END { print sum + 0 }' "$work/failed");" \
        "asked again: $(awk '{ sum += $3 } END { print sum + 0 }' "$work/failed")"
    echo
    while read -r dimension verdict worst limit; do
        goal "${titles[$dimension]} ($verdict): most over the smallest size" "$worst" \
            "$(awk -v limit="$limit" -v flat="$flatRatio" 'BEGIN { print (limit > flat ? limit : flat) }')"
    done <"$work/table"
}

[ "$(nproc)" -ge 2 ] || fail "needs two cores: one for the server, one for upstream and load"
PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
realtime=$(scheduling || true)
ulimit -n "$(ulimit -Hn)" # a lookup at the system resolver has a socket of its own
next=0
: >"$work/failed"
start_upstream
for dimension in "${dimensions[@]}"; do measure_dimension "$dimension"; done
report
exit "$status"
