# Whether memory stays bounded: a million distinct names through httpdnsd with a cache of 32 MiB, beside smartdns and
# unbound; then whether names that are asked again and again take more with time, over ten million queries; then what an
# entry takes, beside unbound and dnsmasq. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

names=1000000
fewNames=20000 # before these, and after them, the servers are compared
entries=50000
steadyNames=20000
steadyRounds=500
warmRounds=100 # until each table has its size, and holes in the heap are as many as they get
cacheMiB=32
settleSeconds=5 # what is collected is written, and idle connections are closed after 10
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    names=3000 fewNames=500 entries=1000 steadyNames=500 steadyRounds=4 warmRounds=2 settleSeconds=1 isSmoke=true
fi

# The goals.
maxAnonymousKB=49152
maxFailures=0
maxOverSmartdns=1.0
maxSteadyGrowthKB=64 # per million queries: some pages here and there

firstName=0
settlingName=90000000 # is asked once before, so that what the first question costs is not counted for entries
declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers
realtime=
unbound_lines=("msg-cache-size: 128m" "rrset-cache-size: 256m")
smartdns_entries=200000 # fewer than httpdnsd keeps

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    compile names-load names-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdnsctl
}

# MARK: servers

# start_on_instant_upstream httpdnsd|unbound|dnsmasq SIZE: with the port of now, and room for so many entries.
start_on_instant_upstream() {
    case $1 in
    httpdnsd)
        settings_on_instant_upstream "cache.size = \"${cacheMiB}MiB\"" 'cache.store = ""'
        start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
        await httpdnsd grep -q '^httpdnsd: ready' "$work/httpdnsd.log"
        ;;
    unbound)
        unbound_settings "    forward-addr: 127.0.0.1@$dns" "${unbound_lines[@]}"
        start unbound unbound -d -c "$work/unbound.conf"
        ;;
    dnsmasq) start_dnsmasq "$2" ;;
    esac
    ports[$1]=$port
}

# start_dnsmasq SIZE
start_dnsmasq() {
    start dnsmasq dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="$port" --no-resolv --no-hosts --no-poll \
        --server="127.0.0.1#$dns" --dns-forward-max=1000 --cache-size="$1"
}

# MARK: measuring

# ask SERVER FIRST COUNT: the lines of names-load.
ask() {
    kill -0 "${pids[$1]}" 2>/dev/null || fail "$1 did not start: $(tail -n 3 "$work/$1.log")"
    "$bin/names-load" "${ports[$1]}" "$2" "$3" "${pids[$1]}" || fail "no measurement of $1: $(tail -n 3 "$work/$1.log")"
    progress ""
}

anonymous_kB() { awk '/^RssAnon/ { print $2 }' "/proc/${pids[$1]}/status"; }

# note_stage SERVER STAGE
note_stage() {
    awk -v server="$1" -v stage="$2" '/^VmRSS/ { all = $2 } /^RssAnon/ { anonymous = $2 }
        END { print server, stage, all, anonymous }' "/proc/${pids[$1]}/status" >>"$work/stages"
}

statistic() { awk -v name="$1" '$1 == name { print $2 }' "$work/stats"; }

# measure_stages SERVER: idle, with few names, and after all names.
measure_stages() {
    free_port
    ports[$1]=$port
    server_store=$work/cache.db "start_$1"
    sleep 1 # until it listens
    ask "$1" "$settlingName" 1 >/dev/null
    note_stage "$1" idle
    ask "$1" "$firstName" "$fewNames" >/dev/null
    note_stage "$1" few
    ask "$1" $((firstName + fewNames)) $((names - fewNames)) >"$work/million-$1"
    note_stage "$1" many
}

measure_million() {
    start_upstream
    for server in smartdns unbound; do
        measure_stages "$server"
        stop "$server"
    done
    measure_stages httpdnsd
    progress "$settleSeconds s of rest ..."
    sleep "$settleSeconds"
    progress ""
    restKB=$(anonymous_kB httpdnsd)
    .build/release/httpdnsctl --socket "$work/httpdnsd.sock" stats >"$work/stats"
    stop httpdnsd
    stop upstream
}

# What memory an empty server takes is that of one without a cache: dnsmasq takes the room for all entries at once.
measure_entries() {
    local server=$1 idleKB halfKB fullKB live
    free_port
    start_instant_upstream
    start_on_instant_upstream "$server" 0
    ask "$server" "$settlingName" 1 >/dev/null
    idleKB=$(anonymous_kB "$server")
    stop "$server"
    start_on_instant_upstream "$server" $((entries + 1))
    ask "$server" "$settlingName" 1 >/dev/null
    ask "$server" "$firstName" "$entries" >"$work/entries"
    halfKB=$(awk 'NR == 5 { print $3 }' "$work/entries")
    fullKB=$(awk 'END { print $6 }' "$work/entries")
    stop upstream # what is answered now is in the cache
    live=$(ask "$server" "$firstName" "$entries" | awk 'END { print $1 }')
    stop "$server"
    echo "$server $live $idleKB $halfKB $fullKB" >>"$work/costs"
}

# Every round asks for the same names. An answer lasts 20 s, so that a part of the rounds finds answers in the cache, and
# the others fetch all of them again, or find them refreshed.
measure_steady() {
    local round
    free_port
    ports[httpdnsd]=$port
    start_instant_upstream
    settings_on_instant_upstream "cache.size = \"${cacheMiB}MiB\"" 'cache.store = ""' 'cache.max-ttl = "20s"'
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q '^httpdnsd: ready' "$work/httpdnsd.log"
    for ((round = 1; round <= steadyRounds; round++)); do
        ask httpdnsd "$firstName" "$steadyNames" >/dev/null
        anonymous_kB httpdnsd
        progress "round $round of $steadyRounds ..."
    done >"$work/steady"
    progress ""
    .build/release/httpdnsctl --socket "$work/control.sock" stats >"$work/stats"
    stop httpdnsd
    stop upstream
}

# MARK: report

growth_table() {
    printf '%10s %8s %9s %13s\n' answered seconds names/s "anonymous, kB"
    awk 'NF == 3 { count = $1; seconds = $2; kB = $3 }
        NF == 6 { count = $1; seconds = $4; kB = $6 }
        { took = seconds - lastSeconds
          rate = took > 0 ? (count - last) / took : 0
          printf "%10d %8.1f %9.0f %13d\n", count, seconds, rate, kB
          last = count; lastSeconds = seconds }' "$work/million-httpdnsd"
}

# The table of the stages, in kB, and its goals.
stages_report() {
    local stage column
    awk '
        { all[$1, $2] = $3; anonymous[$1, $2] = $4 }
        END {
            printf "%-9s %9s %9s %9s %9s %9s %9s\n", "server", "idle", "anonymous", "few", "anonymous", "many",
                "anonymous"
            for (s = split("unbound smartdns httpdnsd", names, " "); s >= 1; s--) {
                n = names[s]
                printf "%-9s %9d %9d %9d %9d %9d %9d\n", n, all[n, "idle"], anonymous[n, "idle"], all[n, "few"],
                    anonymous[n, "few"], all[n, "many"], anonymous[n, "many"]
            }
        }' "$work/stages" | tee "$work/table"
    echo "kB, resident and anonymous; few: after $fewNames names, many: after $names"
    column=2
    for stage in idle "after $fewNames names" "after $names names"; do
        goal "resident memory $stage, over smartdns:" "$(over_smartdns "$column")" "$maxOverSmartdns"
        goal "anonymous memory $stage, over smartdns:" "$(over_smartdns $((column + 1)))" "$maxOverSmartdns"
        column=$((column + 2))
    done
    servers=(httpdnsd smartdns unbound)
    record_column 4 0.001 MB "resident memory with $fewNames entries"
    record_column 5 0.001 MB "anonymous memory with $fewNames entries"
    echo
}

# over_smartdns COLUMN: of the printed table.
over_smartdns() {
    awk -v a="$(value httpdnsd "$1")" -v b="$(value smartdns "$1")" 'BEGIN { printf "%.2f\n", a / b }'
}

million_report() {
    local answered failed retried seconds peak final
    read -r answered failed retried seconds peak final < <(tail -n 1 "$work/million-httpdnsd")
    echo "$names distinct names through httpdnsd, cache ${cacheMiB} MiB, with store and prefetch"
    growth_table
    echo "anonymous memory, kB: $peak at most, $final at the end, $restKB after $settleSeconds s of rest"
    echo "$(statistic cache.entries) entries kept in $(statistic cache.bytes) bytes of the limit," \
        "$(statistic cache.evictions) evicted; asked again $retried times"
    echo "store: $(statistic store.written) written, $(statistic store.dropped) dropped;" \
        "prefetch: $(statistic prefetch.started) started"
    echo
    goal "anonymous memory at most, kB:" "$peak" "$maxAnonymousKB"
    goal "names without an answer:" "$failed" "$maxFailures"
    # The names without failures are fetched over HTTP, or it was another path that was measured.
    goal "names that another than the provider answered:" \
        "$((answered + fewNames + 1 - $(statistic responses.provider)))" 0
    echo
}

entries_table() {
    echo "$entries names each; live: answered again after the upstream had gone"
    awk '
        BEGIN { printf "%-9s %8s %9s %9s %16s %20s\n", "server", "live", "idle kB", "full kB", "bytes per entry",
                "in the second half" }
        { printf "%-9s %8d %9d %9d %16.0f %20.0f\n", $1, $2, $3, $5, ($5 - $3) * 1024 / $2,
              ($5 - $4) * 1024 / ($2 / 2) }' "$work/costs"
}

steady_report() {
    echo "$steadyNames names asked $steadyRounds times with a TTL of 20 s: $(statistic cache.insertions) answers kept," \
        "$(statistic cache.entries) entries"
    echo "anonymous memory after each tenth of the queries, kB:" \
        "$(awk -v n="$steadyRounds" 'int(NR * 10 / n) > int((NR - 1) * 10 / n)' "$work/steady" | paste -sd ' ')"
    # The slope of a straight line (least squares).
    goal "anonymous memory, kB more per million queries, after the first $((warmRounds * steadyNames)):" \
        "$(awk -v warm="$warmRounds" -v names="$steadyNames" '
            NR > warm { n++; x = NR * names / 1e6; sx += x; sy += $1; sxx += x * x; sxy += x * $1 }
            END { printf "%.1f\n", (n * sxy - sx * sy) / (n * sxx - sx * sx) }' "$work/steady")" "$maxSteadyGrowthKB"
    echo
}

PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
measure_million
stages_report
million_report
measure_steady
steady_report
servers=(httpdnsd unbound dnsmasq)
for server in "${servers[@]}"; do measure_entries "$server"; done
entries_table | tee "$work/table"
record_column 5 1 bytes "memory per cache entry"
exit "$status"
