# What a cached query costs over TCP: httpdnsd beside unbound, dnsdist and smartdns, in turns. Each has one serving
# thread and the same names in its cache. On long connections, then on a connection for each query. Started by
# scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

names=1000
repeats=200  # of each name in a round on long connections
singles=5000 # queries in a round with a connection for each
rounds=3
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    names=50 repeats=20 singles=100 rounds=1 isSmoke=true
fi
connections=8
outstanding=128

# The goals: CPU per query over the cheapest peer's, and lost queries.
maxCPURatio=1.0
maxLost=0

servers=(httpdnsd unbound dnsdist smartdns)
# By default unbound shortens its timeouts when five of ten connections are in use.
unbound_lines=("incoming-num-tcp: 64")
declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers

build() {
    compile connection-load connection-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

# MARK: measuring

# All names of both loads are in every cache before the upstream ends. A query that is no hit is then lost.
fill_caches() {
    local server
    questions 1 "$names"
    for server in "${servers[@]}"; do
        ask "$server" -m tcp -c 1 -q 10
        [ "$(lost "$names")" -eq 0 ] || fail "$server did not answer all names: $(cat "$work/report")"
        connect "$server" "$names" >/dev/null
    done
    stop upstream
}

# connect SERVER COUNT: the line of connection-load.
connect() {
    taskset -c 1 "$bin/connection-load" "${ports[$1]}" "$names" "$2" || fail "no connections to $1"
}

# measure ROUND SERVER
measure() {
    local start middle end rate lostLong answered lostSingle seconds
    start=$(cpu_nanoseconds "$2")
    ask "$2" -m tcp -c "$connections" -q "$outstanding" -n "$repeats"
    middle=$(cpu_nanoseconds "$2")
    rate=$(figure "Queries per second")
    lostLong=$(lost $((names * repeats)))
    read -r answered lostSingle seconds < <(connect "$2" "$singles")
    end=$(cpu_nanoseconds "$2")
    [ "$answered" -gt 0 ] || fail "$2 answered no query on a connection of its own"
    echo "$1 $2 $((middle - start)) $rate $((end - middle)) $seconds $((lostLong + lostSingle))" >>"$work/rounds"
}

# MARK: report

table() {
    awk -v queries="$((names * repeats))" -v singles="$singles" "$awk_median"'
        { cpu[$2, $1] = $3 / queries / 1000; rate[$2, $1] = $4
          singleCPU[$2, $1] = $5 / singles / 1000; singleRate[$2, $1] = singles / $6; lost[$2] += $7
          if ($1 + 1 > rounds) rounds = $1 + 1 }
        END {
            printf "%-9s %17s %9s %22s %14s %6s\n", "server", "CPU us per query", "hits/s", "CPU us per connection",
                "connections/s", "lost"
            count = split(order, servers, " ")
            for (s = 1; s <= count; s++) {
                name = servers[s]
                for (r = 0; r < rounds; r++) {
                    a[r + 1] = cpu[name, r]; b[r + 1] = rate[name, r]
                    c[r + 1] = singleCPU[name, r]; d[r + 1] = singleRate[name, r]
                }
                printf "%-9s %17.2f %9.0f %22.1f %14.0f %6d\n", name, median(a, rounds), median(b, rounds),
                    median(c, rounds), median(d, rounds), lost[name]
            }
        }' order="${servers[*]}" "$work/rounds"
}

report() {
    echo "$rounds rounds of $((names * repeats)) cached queries over $connections connections with $outstanding" \
        "outstanding, then $singles with a connection each; server on core 0, load on core 1"
    table | tee "$work/table"
    record_column 2 1 us "CPU per cached hit over TCP"
    record_column 3 1 hits/s "cached hits over TCP"
    record_column 4 1 us "CPU per TCP connection with one hit"
    record_column 5 1 connections/s "TCP connections with one hit"
    echo
    goal "CPU per query over the cheapest peer's:" "$(over_best_peer 2 6)" "$maxCPURatio"
    goal "CPU per connection over the cheapest peer's:" "$(over_best_peer 4 6)" "$maxCPURatio"
    goal "queries without an answer:" "$(value httpdnsd 6)" "$maxLost"
}

[ "$(nproc)" -ge 2 ] || fail "needs two cores: one for the servers, one for the load"
PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
realtime=
start_servers
fill_caches
in_turns measure
report
exit "$status"
