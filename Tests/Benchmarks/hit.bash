# What a cached query costs: httpdnsd beside an echo in C that does the same system calls (the floor), unbound and
# dnsmasq, each with one serving thread and the same names in its cache, in turns; httpdnsd with a million entries; the
# latency at half load; and two serving threads. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

names=20000
manyNames=1000000
rounds=61
queries=25000
pacedRounds=15
pacedSeconds=1
threadRounds=21
threadQueries=100000
idleSeconds=5
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    names=50 manyNames=500 rounds=2 queries=2000 pacedRounds=1 threadRounds=1 threadQueries=2000 idleSeconds=1
    isSmoke=true
fi

# The goals: CPU of a hit over the floor's, with all names and with a million entries; the 99th percentile at half load
# over unbound's; CPU of a hit with two threads over one thread's, for 1.8 times the queries on twice the cores;
# anonymous memory, wake-ups and allocations.
maxRatio=1.10
maxManyRatio=1.15
maxTailRatio=1.0
maxThreadRatio=1.11
maxIdleKB=8192
maxWakeups=0
maxAllocations=0

servers=(floor httpdnsd million unbound dnsmasq)
unbound_lines=("msg-cache-size: 64m" "rrset-cache-size: 64m")
declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers

# MARK: preparation

build() {
    compile echo-floor echo-floor.c
    compile query-load query-load.c
    cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$bin/count-allocations.so" Tests/Benchmarks/count-allocations.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

# MARK: servers

start_floor() { start floor taskset -c 0 "$bin/echo-floor" "$port"; }

start_million() {
    start_httpdnsd_as million 'server.threads = 1' 'cache.size = "2GiB"' "$no_system_resolver" \
        "$(provider upstream 127.0.0.1)"
}

start_dnsmasq() {
    start dnsmasq taskset -c 0 dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="$port" --no-resolv --no-hosts --no-poll \
        --server="127.0.0.1#$plain" --dns-forward-max=1000 --cache-size=$((names + 1))
}

# One thread on one core, and two threads on both, to be compared with each other. Without real-time priority: the load
# shares the cores.
start_one() { start_threads one 1; }

start_two() { server_cores=0,1 start_threads two 2; }

start_threads() {
    realtime='' start_httpdnsd_as "$1" "server.threads = $2" "$no_system_resolver" "$(provider upstream 127.0.0.1)"
}

# fill SERVER: its cache, from the upstream.
fill() {
    local count=$names
    [ "$1" != million ] || count=$manyNames
    progress "$1: $count entries ..."
    taskset -c 1 "$bin/query-load" "${ports[$1]}" "$count" --fill || fail "$1: $(tail -n 3 "$work/$1.log")"
    progress ""
}

# MARK: measuring

# load NAME QUERIES: the line of query-load, from the other core.
load() {
    local echo='' count=$names
    [ "$1" != floor ] || echo=--echo
    [ "$1" != million ] || count=$manyNames
    kill -0 "${pids[$1]}" 2>/dev/null || fail "$1 did not start: $(tail -n 3 "$work/$1.log")"
    $realtime taskset -c 1 "$bin/query-load" "${ports[$1]}" "$count" "$2" --pid "${pids[$1]}" $echo ||
        fail "no measurement of $1: $(tail -n 3 "$work/$1.log")"
}

# Context switches of all threads that were waits: each ended with a wake-up.
wakeups() {
    awk '/^voluntary_ctxt_switches/ { sum += $2 } END { print sum }' "/proc/${pids[httpdnsd]}/task/"*/status
}

# Once before the load: an idle daemon keeps still, and little.
measure_idle() {
    progress "idle: $idleSeconds s ..."
    sleep 2 # what a start still has to do
    idleKB=$(awk '/^RssAnon/ { print $2 }' "/proc/${pids[httpdnsd]}/status")
    local before
    before=$(wakeups)
    sleep "$idleSeconds"
    idleWakeups=$(($(wakeups) - before))
}

# measure ROUND SERVER
measure() {
    local figures
    figures=$(load "$2" "$queries")
    echo "$1 $2 $figures" >>"$work/rounds"
}

# Half of what the slower of the two can answer on one core.
choose_pace() {
    pace=$(awk '$2 == "httpdnsd" || $2 == "unbound" { answered[$2] += $3; cpu[$2] += $6 / 1e9 }
        END { for (name in cpu) { rate = answered[name] / cpu[name] / 2; if (!least || rate < least) least = rate }
            printf "%.0f\n", least }' "$work/rounds")
}

# measure_paced ROUND SERVER: the load never sleeps, and has no real-time priority. With it, the kernel would stop the
# load for 50 ms in each second (sched(7)).
measure_paced() {
    local figures
    figures=$(taskset -c 1 "$bin/query-load" "${ports[$2]}" "$names" $((pace * pacedSeconds)) --rate "$pace") ||
        fail "no latencies of $2"
    echo "$1 $2 $figures" >>"$work/paced"
}

# measure_threads ROUND one|two: each core has a serving thread and a load.
measure_threads() {
    local core loads=() before
    before=$(cpu_nanoseconds "$2")
    for core in $([ "$2" = one ] && echo 0 || echo 0 1); do
        taskset -c "$core" "$bin/query-load" "${ports[$2]}" "$names" "$threadQueries" --yield >"$work/load-$core" &
        loads+=($!)
    done
    for load in "${loads[@]}"; do wait "$load" || fail "no measurement of $2"; done
    echo "$1 $2 $(($(cpu_nanoseconds "$2") - before)) $((${#loads[@]} * threadQueries))" >>"$work/threads"
}

# With a daemon of its own, because counting costs.
measure_allocations() {
    local before
    progress "allocations ..."
    stop httpdnsd
    free_port
    ports[httpdnsd]=$port
    server_prefix=(env LD_PRELOAD="$PWD/$bin/count-allocations.so" ALLOCATION_COUNT_FILE="$work/allocations")
    start_httpdnsd
    server_prefix=()
    fill httpdnsd
    load httpdnsd 1000 >/dev/null
    before=$(od -An -t u8 "$work/allocations")
    load httpdnsd "$queries" >/dev/null
    allocations=$(($(od -An -t u8 "$work/allocations") - before))
    progress ""
}

# MARK: report

table() {
    awk "$awk_median"'
        { cost[$2, $1] = $6 / $3; lost[$2] += $4; seconds[$2] += $5; answered[$2] += $3; cpu[$2] += $6 / 1e9
          user[$2] += $7; system_[$2] += $8; if ($1 + 1 > rounds) rounds = $1 + 1 }
        END {
            printf "%-9s %17s %14s %6s %6s %5s %7s %5s  %s\n", "server", "CPU ns per query", "min..max", "user",
                "system", "busy", "kq/s", "lost", "over the floor (min..max)"
            count = split(order, servers, " ")
            for (s = 1; s <= count; s++) {
                name = servers[s]
                for (r = 0; r < rounds; r++) {
                    costs[r + 1] = cost[name, r]
                    ratios[r + 1] = cost[name, r] / cost["floor", r]
                }
                middle = median(costs, rounds)
                ticks = user[name] + system_[name]
                share = ticks > 0 ? user[name] / ticks : 0
                printf "%-9s %17.0f %14s %6.0f %6.0f %4.0f%% %7.0f %5d", name, middle,
                    sprintf("%.0f..%.0f", lowest, highest), middle * share, middle * (1 - share),
                    100 * cpu[name] / seconds[name], answered[name] / seconds[name] / 1000, lost[name]
                ratio = median(ratios, rounds)
                printf "  %.2f (%.2f..%.2f)\n", ratio, lowest, highest
            }
        }' order="${servers[*]}" "$work/rounds"
}

# paced_table: the medians of the rounds; then the ratio of the 99th percentiles of the same round.
paced_table() {
    awk "$awk_median"'
        { p50[$2, $1] = $5; p99[$2, $1] = $6; p999[$2, $1] = $7; lost[$2] += $4; if ($1 + 1 > rounds) rounds = $1 + 1 }
        END {
            printf "%-9s %10s %10s %10s %5s\n", "server", "p50 us", "p99 us", "p99.9 us", "lost"
            for (s = split("httpdnsd unbound", names, " "); s >= 1; s--) {
                name = names[s]
                for (r = 0; r < rounds; r++) {
                    a[r + 1] = p50[name, r]; b[r + 1] = p99[name, r]; c[r + 1] = p999[name, r]
                    ratios[r + 1] = p99["httpdnsd", r] / p99["unbound", r]
                }
                printf "%-9s %10.1f %10.1f %10.1f %5d\n", name, median(a, rounds) / 1e3, median(b, rounds) / 1e3,
                    median(c, rounds) / 1e3, lost[name]
            }
            printf "ratio %.2f\n", median(ratios, rounds)
        }' "$work/paced"
}

# thread_ratio: the CPU per query of two threads over that of one, median of the rounds.
thread_ratio() {
    awk "$awk_median"'
        { cost[$2, $1] = $3 / $4; if ($1 + 1 > rounds) rounds = $1 + 1 }
        END {
            for (r = 0; r < rounds; r++) ratios[r + 1] = cost["two", r] / cost["one", r]
            printf "%.2f\n", median(ratios, rounds)
        }' "$work/threads"
}

report() {
    echo "$rounds rounds of $queries cached A queries over $names names ($manyNames: million), one serving thread on" \
        "core 0, load on core 1"
    table | tee "$work/table"
    servers=(floor httpdnsd unbound dnsmasq) # the chart has no million
    record_column 2 0.001 us "CPU per cached hit over UDP"
    record_column 7 1000 hits/s "cached hits over UDP"
    echo
    echo "$pacedRounds rounds of $pace queries per second, half of what the slower one can answer; since due"
    paced_table >"$work/paced-table"
    grep -v '^ratio' "$work/paced-table"
    echo
    goal "idle anonymous memory, kB:" "$idleKB" "$maxIdleKB"
    goal "idle wake-ups in $idleSeconds s:" "$idleWakeups" "$maxWakeups"
    goal "allocations in $queries hits:" "$allocations" "$maxAllocations"
    goal "httpdnsd/floor, $names entries:" "$(value httpdnsd 9)" "$maxRatio"
    goal "httpdnsd/floor, $manyNames entries:" "$(value million 9)" "$maxManyRatio"
    goal "99th percentile at half load, httpdnsd/unbound:" \
        "$(awk '/^ratio/ { print $2 }' "$work/paced-table")" "$maxTailRatio"
    goal "CPU per query, two threads/one:" "$(thread_ratio)" "$maxThreadRatio"
}

[ "$(nproc)" -ge 2 ] || fail "needs two cores: one for the servers, one for the load"
PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
realtime=$(scheduling || true)
start_upstream
for server in "${servers[@]}" one two; do
    free_port
    ports[$server]=$port
    "start_$server"
    [ "$server" != httpdnsd ] || measure_idle
done
sleep 1 # until all of them listen
for server in "${servers[@]}" one two; do
    [ "$server" = floor ] || fill "$server"
done
in_turns measure
choose_pace
servers=(httpdnsd unbound)
rounds=$pacedRounds in_turns measure_paced
servers=(one two)
rounds=$threadRounds in_turns measure_threads
servers=(floor httpdnsd million unbound dnsmasq)
measure_allocations
report
exit "$status"
