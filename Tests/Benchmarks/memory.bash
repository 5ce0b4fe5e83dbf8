# Whether memory stays bounded: a million distinct names through httpdnsd with a cache of 32 MiB, all of them fetched
# from a provider over HTTP; then what an entry takes, beside unbound and dnsmasq; then whether names that are asked
# again and again take more with time. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

names=1000000
entries=50000
steadyNames=20000
steadyRounds=12
warmRounds=4 # until each table has its size, and holes in the heap are as many as they get
cacheMiB=32
settleSeconds=5 # what is collected is written, and idle connections are closed after 10
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    names=3000 entries=1000 steadyNames=500 steadyRounds=3 warmRounds=2 settleSeconds=1 isSmoke=true
fi

# The goals.
maxAnonymousKB=49152
maxFailures=0
maxSteadyGrowthKB=512 # some pages here and there; a leak of 4 bytes for each answer would be as much

firstName=0
settlingName=90000000 # is asked once before, so that what the first question costs is not counted for entries
servers=(httpdnsd unbound dnsmasq) # of which an entry is measured
declare -A pids=()
. Tests/Benchmarks/harness
realtime=

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    compile names-load names-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdnsctl
}

# MARK: servers

# start_httpdnsd STORE
start_httpdnsd() {
    settings_on_instant_upstream "cache.size = \"${cacheMiB}MiB\"" "cache.store = \"$1\""
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q '^httpdnsd: ready' "$work/httpdnsd.log"
}

start_unbound() {
    unbound_settings "    forward-addr: 127.0.0.1@$dns" "msg-cache-size: 128m" "rrset-cache-size: 256m"
    start unbound unbound -d -c "$work/unbound.conf"
}

# start_dnsmasq SIZE
start_dnsmasq() {
    start dnsmasq dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="$port" --no-resolv --no-hosts --no-poll \
        --server="127.0.0.1#$dns" --dns-forward-max=1000 --cache-size="$1"
}

# start_server NAME SIZE: with the port of now, and room for so many entries.
start_server() {
    case $1 in
    httpdnsd) start_httpdnsd "" ;;
    unbound) start_unbound ;;
    dnsmasq) start_dnsmasq "$2" ;;
    esac
}

# MARK: measuring

# ask SERVER FIRST COUNT: the lines of names-load.
ask() {
    kill -0 "${pids[$1]}" 2>/dev/null || fail "$1 did not start: $(tail -n 3 "$work/$1.log")"
    "$bin/names-load" "$port" "$2" "$3" "${pids[$1]}" || fail "no measurement of $1: $(tail -n 3 "$work/$1.log")"
    progress ""
}

anonymous_kB() { awk '/^RssAnon/ { print $2 }' "/proc/${pids[$1]}/status"; }

statistic() { awk -v name="$1" '$1 == name { print $2 }' "$work/stats"; }

measure_million() {
    free_port
    start_instant_upstream
    start_httpdnsd "$work/cache.db"
    ask httpdnsd "$settlingName" 1 >/dev/null
    idleKB=$(anonymous_kB httpdnsd)
    ask httpdnsd "$firstName" "$names" >"$work/million"
    progress "$settleSeconds s of rest ..."
    sleep "$settleSeconds"
    progress ""
    restKB=$(anonymous_kB httpdnsd)
    .build/release/httpdnsctl --socket "$work/control.sock" stats >"$work/stats"
    stop httpdnsd
    stop upstream
}

# What memory an empty server takes is that of one without a cache: dnsmasq takes the room for all entries at once.
measure_entries() {
    local server=$1 idleKB halfKB fullKB live
    free_port
    start_instant_upstream
    start_server "$server" 0
    ask "$server" "$settlingName" 1 >/dev/null
    idleKB=$(anonymous_kB "$server")
    stop "$server"
    start_server "$server" $((entries + 1))
    ask "$server" "$settlingName" 1 >/dev/null
    ask "$server" "$firstName" "$entries" >"$work/entries"
    halfKB=$(awk 'NR == 5 { print $3 }' "$work/entries")
    fullKB=$(awk 'END { print $6 }' "$work/entries")
    stop upstream # what is answered now is in the cache
    live=$(ask "$server" "$firstName" "$entries" | awk 'END { print $1 }')
    stop "$server"
    echo "$server $live $idleKB $halfKB $fullKB" >>"$work/costs"
}

# Every round asks for the same names, whose answers have ended meanwhile: nothing is new, and all is fetched again.
measure_steady() {
    local round
    free_port
    start_instant_upstream
    settings_on_instant_upstream "cache.size = \"${cacheMiB}MiB\"" 'cache.store = ""' 'cache.max-ttl = "1s"'
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q '^httpdnsd: ready' "$work/httpdnsd.log"
    for ((round = 1; round <= steadyRounds; round++)); do
        ask httpdnsd "$firstName" "$steadyNames" >/dev/null
        sleep 1.2
        anonymous_kB httpdnsd
    done >"$work/steady"
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
          last = count; lastSeconds = seconds }' "$work/million"
}

million_report() {
    local answered failed retried seconds peak final
    read -r answered failed retried seconds peak final < <(tail -n 1 "$work/million")
    echo "$names distinct names through httpdnsd, cache ${cacheMiB} MiB, with store and prefetch"
    growth_table
    echo "anonymous memory, kB: $idleKB idle, $peak at most, $final at the end, $restKB after $settleSeconds s of rest"
    echo "$(statistic cache.entries) entries kept in $(statistic cache.bytes) bytes of the limit," \
        "$(statistic cache.evictions) evicted; asked again $retried times"
    echo "store: $(statistic store.written) written, $(statistic store.dropped) dropped;" \
        "prefetch: $(statistic prefetch.started) started"
    echo
    goal "anonymous memory at most, kB:" "$peak" "$maxAnonymousKB"
    goal "names without an answer:" "$failed" "$maxFailures"
    # The names without failures are fetched over HTTP, or it was another path that was measured.
    goal "names that another than the provider answered:" "$((answered + 1 - $(statistic responses.provider)))" 0
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
    echo "$steadyNames names asked $steadyRounds times with a TTL of 1 s: $(statistic cache.insertions) answers kept," \
        "$(statistic cache.entries) entries"
    echo "anonymous memory after each round, kB: $(paste -sd ' ' "$work/steady")"
    goal "anonymous memory, kB more than after $warmRounds rounds:" \
        "$(awk -v warm="$warmRounds" 'NR == warm { first = $1 } NR > warm && $1 > most { most = $1 }
            END { print most - first }' "$work/steady")" "$maxSteadyGrowthKB"
    echo
}

PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
measure_million
million_report
measure_steady
steady_report
for server in "${servers[@]}"; do measure_entries "$server"; done
entries_table | tee "$work/table"
record_column 5 1 bytes "memory per cache entry"
exit "$status"
