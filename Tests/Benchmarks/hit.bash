# What a cached query costs: httpdnsd beside an echo in C that does the same system calls (the floor), unbound and
# dnsmasq, each with one serving thread and the same 1,000 names in its cache, in turns. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

names=1000
rounds=61
queries=25000
idleSeconds=5
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    names=50 rounds=2 queries=2000 idleSeconds=1 isSmoke=true
fi

# The goals: CPU of a hit over the floor's, anonymous memory, wake-ups and allocations.
maxRatio=1.10
maxIdleKB=8192
maxWakeups=0
maxAllocations=0

servers=(floor httpdnsd unbound dnsmasq)
declare -A pids=() ports=()
. Tests/Benchmarks/harness

# MARK: preparation

build() {
    compile echo-floor echo-floor.c
    compile query-load query-load.c
    cc -O2 -Wall -Wextra -Werror -shared -fPIC -o "$bin/count-allocations.so" Tests/Benchmarks/count-allocations.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdns-lab
}

# MARK: servers

# What the caches are filled from, by DNS and by HTTP: the same zone.
start_upstreams() {
    free_port
    nameserver=$port
    seq "$names" | sed 's/.*/name&.bench.example/' >"$work/names"
    {
        echo '$ORIGIN bench.example.'
        echo '$TTL 86400'
        echo '@ SOA ns.bench.example. host.bench.example. 1 3600 600 86400 60'
        echo '@ NS ns'
        echo 'ns A 192.0.2.1'
        seq "$names" | awk '{ printf "name%d A 198.51.%d.%d\n", $1, $1 / 250, $1 % 250 + 1 }'
    } >"$work/zone"
    cat >"$work/nsd.conf" <<END
server:
    ip-address: 127.0.0.1@$nameserver
    server-count: 1
    username: ""
    chroot: ""
    zonesdir: "$work"
    database: ""
    pidfile: ""
    xfrdfile: "$work/xfrd.state"
    zonelistfile: "$work/zone.list"
remote-control:
    control-enable: no
zone:
    name: bench.example
    zonefile: zone
END
    start nsd taskset -c 0 nsd -d -c "$work/nsd.conf"
    start lab taskset -c 0 .build/release/httpdns-lab --zone "$work/zone" --http 127.0.0.1:0
    await lab grep -qx ready "$work/lab.log"
}

start_floor() {
    free_port
    ports[floor]=$port
    start floor taskset -c 0 "$bin/echo-floor" "$port"
}

start_httpdnsd() {
    free_port
    ports[httpdnsd]=$port
    cat >"$work/httpdnsd.toml" <<END
[server]
listen = ["127.0.0.1:$port"]
threads = 1
[[provider]]
name = "lab"
dialect = "doh"
url = "http://$(sed -n 's/^http //p' "$work/lab.log")/dns-query"
[system-resolver]
servers = ["127.0.0.1:$nameserver"]
[control]
socket = "$work/control.sock"
[probe]
enabled = false
END
    start httpdnsd taskset -c 0 "$@" .build/release/httpdnsd --config "$work/httpdnsd.toml"
}

start_unbound() {
    free_port
    ports[unbound]=$port
    unbound_settings "    forward-addr: 127.0.0.1@$nameserver"
    start unbound taskset -c 0 unbound -d -c "$work/unbound.conf"
}

start_dnsmasq() {
    free_port
    ports[dnsmasq]=$port
    start dnsmasq taskset -c 0 dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="$port" --no-resolv --no-hosts --no-poll \
        --server="127.0.0.1#$nameserver" --cache-size=10000
}

# MARK: measuring

# load NAME QUERIES: the line of query-load, from the other core.
load() {
    local echo=
    [ "$1" != floor ] || echo=--echo
    kill -0 "${pids[$1]}" 2>/dev/null || fail "$1 did not start: $(tail -n 3 "$work/$1.log")"
    $realtime taskset -c 1 "$bin/query-load" "${ports[$1]}" "$work/names" "$2" --pid "${pids[$1]}" $echo ||
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

# With a daemon of its own, because counting costs.
measure_allocations() {
    local before
    progress "allocations ..."
    stop httpdnsd
    start_httpdnsd env LD_PRELOAD="$PWD/$bin/count-allocations.so" ALLOCATION_COUNT_FILE="$work/allocations"
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

report() {
    echo "$rounds rounds of $queries cached A queries over $names names, one serving thread on core 0, load on core 1"
    table | tee "$work/table"
    record_column 2 0.001 us "CPU per cached hit over UDP"
    record_column 7 1000 hits/s "cached hits over UDP"
    echo
    goal "idle anonymous memory, kB:" "$idleKB" "$maxIdleKB"
    goal "idle wake-ups in $idleSeconds s:" "$idleWakeups" "$maxWakeups"
    goal "allocations in $queries hits:" "$allocations" "$maxAllocations"
    goal "httpdnsd/floor" "$(value httpdnsd 9)" "$maxRatio"
}

[ "$(nproc)" -ge 2 ] || fail "needs two cores: one for the servers, one for the load"
PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
realtime=$(scheduling || true)
start_upstreams
start_httpdnsd
measure_idle
start_floor
start_unbound
start_dnsmasq
in_turns measure
measure_allocations
report
exit "$status"
