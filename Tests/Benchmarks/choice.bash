# How questions move between providers: three of them at 10, 40 and 200 ms, of which the best dies and returns, once
# by keeping silent and once by refusing connections. Every client is timed. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

rate=100
seconds=60 diesAt=20 returnsAt=40 rowSeconds=5
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    rate=50 seconds=9 diesAt=3 returnsAt=6 rowSeconds=1 isSmoke=true
fi

# The goals: the longest wait of a client from the death on, failures, and how soon after its return the best provider
# has most of the questions again.
maxWaitMilliseconds=300
maxFailures=0
maxReturnSeconds=30

providers=(best middle far)
delays=(10 40 200)
deaths=(silent refusing)
declare -A pids=()
. Tests/Benchmarks/harness
realtime=$(scheduling || true)

build() {
    compile choice-load choice-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdns-lab
    swift build -c release --static-swift-stdlib --product httpdnsctl
}

# said LAB LISTENER: the address that the lab has for it.
said() { sed -n "s/^$2 //p" "$work/$1.log"; }

# set_fault LAB PROVIDER QUERY
set_fault() {
    curl -sSf -o "$work/done" -X POST "http://$(said "$1" control)/fault?provider=$2&$3" || fail "$1 takes no fault"
}

# start_lab NAME HTTP: the stand-in for one provider or more.
start_lab() {
    start "$1" .build/release/httpdns-lab --zone "$work/zone" --http "$2" --control 127.0.0.1:0
    await "$1" grep -qx ready "$work/$1.log"
}

delay_best() { set_fault lab-best best "kind=delay&value=${delays[0]}"; }

start_labs() {
    {
        echo '$ORIGIN memory.example.'
        echo '$TTL 3600'
        echo '@ SOA ns.memory.example. host.memory.example. 1 3600 600 86400 60'
        echo '* A 198.51.100.7'
    } >"$work/zone"
    start_lab lab-best 127.0.0.1:0
    start_lab lab-others 127.0.0.1:0
    bestHTTP=$(said lab-best http)
    delay_best
    set_fault lab-others middle "kind=delay&value=${delays[1]}"
    set_fault lab-others far "kind=delay&value=${delays[2]}"
}

# The slowest is named first, so that nothing is owed to the order.
start_daemon() {
    local provider
    free_port
    : >"$work/resolv.conf"
    cat >"$work/httpdnsd.toml" <<END
[server]
listen = ["127.0.0.1:$port"]
[system-resolver]
resolv-conf = "$work/resolv.conf"
[cache]
store = ""
[control]
socket = "$work/control.sock"
END
    for provider in far middle best; do
        cat >>"$work/httpdnsd.toml" <<END
[[provider]]
name = "$provider"
dialect = "json"
url = "http://$([ $provider = best ] && said lab-best http || said lab-others http)/p/$provider/resolve"
END
    done
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q ' ready: ' "$work/httpdnsd.log"
}

# sample SECOND: how many questions each provider has had so far.
sample() {
    local provider counts=()
    .build/release/httpdnsctl --socket "$work/control.sock" --json stats >"$work/stats" || fail "no statistics"
    for provider in "${providers[@]}"; do
        counts+=("$(sed -E 's/\},\{/\n/g; s/"providers":\[/\n/' "$work/stats" | grep "\"name\":\"$provider\"" |
            sed -E 's/.*"names":([0-9]+).*/\1/')")
    done
    echo "$1 ${counts[*]}" >>"$work/samples"
}

die() {
    if [ "$1" = silent ]; then set_fault lab-best best kind=hang; else stop lab-best; fi
}

return_from() {
    [ "$1" = silent ] || start_lab lab-best "$bestHTTP"
    delay_best
}

# run DEATH: leaves `samples` by the second and `waits` by the query.
run() {
    local second begin
    rm -f "$work/samples"
    start_daemon
    start load "$bin/choice-load" "$port" "$rate" "$seconds"
    await load grep -q begun "$work/load.log"
    begin=$(date +%s%N)
    for ((second = 0; second <= seconds; second++)); do
        sleep_until $((begin + second * 1000000000))
        progress "$1: second $second of $seconds ..."
        [ "$second" -ne "$diesAt" ] || die "$1"
        [ "$second" -ne "$returnsAt" ] || return_from "$1"
        sample "$second"
    done
    wait "${pids[load]}" || fail "no load: $(tail -n 3 "$work/load.log")"
    unset "pids[load]"
    sed 1d "$work/load.log" >"$work/waits"
    stop httpdnsd
    progress ""
}

sleep_until() {
    local left=$(($1 - $(date +%s%N)))
    [ "$left" -le 0 ] || sleep "$(printf '%d.%09d' $((left / 1000000000)) $((left % 1000000000)))"
}

# MARK: report

table() {
    awk -v row="$rowSeconds" -v seconds="$seconds" -v names="${providers[*]}" '
        FILENAME ~ /samples$/ { for (i = 2; i <= 4; i++) asked[$1, i] = $i; next }
        {
            slot = int($1 / 1000 / row); queries[slot]++; sum[slot] += $2
            if ($2 < 0) failed[slot]++
            if ($2 > worst[slot]) worst[slot] = $2
        }
        END {
            split(names, name, " ")
            printf "%9s %8s %8s %8s %10s %10s %10s %10s\n", "seconds", name[1], name[2], name[3],
                "questions", "mean, ms", "worst, ms", "unanswered"
            for (slot = 0; slot * row < seconds; slot++) {
                from = slot * row; to = from + row; all = 0
                for (i = 2; i <= 4; i++) all += part[i] = asked[to, i] - asked[from, i]
                printf "%4d - %2d", from, to
                for (i = 2; i <= 4; i++) printf " %6.1f %%", all ? 100 * part[i] / all : 0
                printf " %10d %10.1f %10.1f %10d\n", all, sum[slot] / queries[slot], worst[slot], failed[slot]
            }
        }' "$work/samples" "$work/waits"
}

# The first second after the return in which the best one has more than half of the questions; nothing without one.
seconds_to_return() {
    awk -v at="$returnsAt" '
        $1 > at && !found && NR > 1 {
            best = $2 - last[2]; all = best + $3 - last[3] + $4 - last[4]
            if (best > all / 2) { print $1 - at; found = 1 }
        }
        { for (i = 2; i <= 4; i++) last[i] = $i }' "$work/samples"
}

report() {
    echo "$rate distinct names a second; the best provider (${delays[0]} ms) is $1 from second $diesAt to $returnsAt"
    table
    echo
    goal "longest wait from its death on, ms:" \
        "$(awk -v at="$diesAt" '$1 >= at * 1000 && $2 > worst { worst = $2 } END { print worst }' "$work/waits")" \
        "$maxWaitMilliseconds"
    goal "queries without an answer:" "$(awk '$2 < 0 { n++ } END { print n + 0 }' "$work/waits")" "$maxFailures"
    goal "seconds until it has most of the questions again:" "$(seconds_to_return)" "$maxReturnSeconds"
    echo
}

install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
start_labs
for death in "${deaths[@]}"; do
    run "$death"
    report "$death"
done
exit "$status"
