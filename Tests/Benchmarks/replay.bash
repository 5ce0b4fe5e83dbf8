# Whether a name in use ever waits: one Zipf trace with an outage, played at the same time against httpdnsd, unbound,
# dnsmasq and smartdns, each with a primary upstream and a second, slower resolver of its own. Started by scripts/bench.
# SEED=NUMBER chooses another trace, OUTAGE=KIND another outage (replay-upstream.c), RATE=NUMBER the queries per second,
# DOMAINS=NUMBER the registrable domains of the names. WAITS=FILE gets a line for each query that no client should see
# (replay-load.c).
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

seed=${SEED:-1}
outage=${OUTAGE:-silent}
rate=${RATE:-150}
names=2000
domains=${DOMAINS:-1}
seconds=120
outageBegin=60
outageEnd=80
startSeconds=8 # until every server must have answered
isSmoke=false
servers=(floor httpdnsd httpdnsd-batch unbound unbound-prefetch unbound-stale unbound-1800 dnsmasq smartdns)
if [ "${1:-}" = --smoke ]; then
    names=100 seconds=5 outageBegin=2 outageEnd=3 startSeconds=3 isSmoke=true
    servers=(floor httpdnsd httpdnsd-batch unbound)
fi

# The goals: repeats that waited, expired answers, failures, and requests over those of unbound without prefetch.
maxSlowPercent=0.6
maxExpired=0
maxFailures=0
maxRequestRatio=2.0
maxBatchedRatio=0.999
usualRate=150 # the ratios are judged at this rate in a silent outage

# The user of httpdnsd if root starts it. The default user 65534 may hold no key.
serving_user=
[ "$(id -u)" -ne 0 ] || serving_user=$(id -un httpdnsd 2>/dev/null || echo daemon)

declare -A pids=() ports=() primary=() http=() second=()
. Tests/Benchmarks/harness

build() {
    compile echo-floor echo-floor.c
    compile replay-upstream replay-upstream.c replay-messages.c
    compile replay-load replay-load.c replay-verdicts.c
    swift build -c release --static-swift-stdlib --product httpdnsd
    swift build -c release --static-swift-stdlib --product httpdnsctl
}

# MARK: servers

# Writes to `optional` what this httpdnsd needs set: a cache that is not empty at the start would spoil the run, and
# probes of the addresses would leave the machine.
read_optional_settings() {
    local effective
    effective=$(.build/release/httpdnsd --print-effective --config /dev/null)
    optional=
    if grep -q '^store = ' <<<"$effective"; then optional+=$'[cache]\nstore = ""\n'; fi
    if grep -q '^\[probe\]' <<<"$effective"; then optional+=$'[probe]\nenabled = false\n'; fi
}

# Whether this httpdnsd has a dialect that puts several names into a request.
can_batch() {
    (umask 077 && printf '1\n' >"$work/token")
    [ -z "$serving_user" ] || chown "$serving_user" "$work" "$work/token"
    printf '[server]\nuser = "%s"\n[[provider]]\nname = "x"\ndialect = "dnspod-https"\nurl = "http://127.0.0.1/"\nkey-file = "%s"\n' \
        "$serving_user" "$work/token" >"$work/batch.toml"
    .build/release/httpdnsd --check --config "$work/batch.toml" >/dev/null 2>&1
}

# has_lines COUNT FILE
has_lines() {
    [ "$(wc -l <"$2")" -eq "$1" ]
}

start_upstreams() {
    local server
    begin=$(date -d "$startSeconds seconds" +%s.%N)
    start upstream "$bin/replay-upstream" "${#servers[@]}" "$begin" "$outageBegin" "$outageEnd" "$outage"
    await upstream has_lines "${#servers[@]}" "$work/upstream.log"
    for server in "${servers[@]}"; do
        read -r "primary[$server]" "http[$server]" "second[$server]"
    done <"$work/upstream.log"
}

# httpdnsd NAME DIALECT PATH MORE
start_httpdnsd() {
    cat >"$work/$1.toml" <<END
[server]
listen = ["127.0.0.1:${ports[$1]}"]
user = "$serving_user"
[[provider]]
name = "primary"
dialect = "$2"
url = "http://lab.example:${http[$1]}$3"
addresses = [$(printf '"%s", ' "${addresses[@]}")]
$4
[system-resolver]
servers = ["127.0.0.1:${second[$1]}"]
[control]
socket = "$work/$1.sock"
$optional
END
    start "$1" .build/release/httpdnsd --config "$work/$1.toml"
}

# start_unbound NAME MORE: prefers the faster forwarder nine times out of ten, as the manual's example does; otherwise
# it takes turns among all within 400 ms, and half of its misses would wait for the slow one.
start_unbound() {
    cat >"$work/$1.conf" <<END
server:
    interface: 127.0.0.1@${ports[$1]}
    num-threads: 1
    module-config: "iterator"
    do-daemonize: no
    do-not-query-localhost: no
    use-syslog: no
    username: ""
    chroot: ""
    directory: "$work"
    pidfile: ""
    msg-cache-size: 32m
    rrset-cache-size: 64m
    fast-server-permil: 900
    fast-server-num: 1
    infra-keep-probing: yes
    $2
remote-control:
    control-enable: no
forward-zone:
    name: "."
$(printf "    forward-addr: %s@${primary[$1]}\n" "${addresses[@]}")
    forward-addr: 127.0.0.1@${second[$1]}
END
    start "$1" unbound -d -c "$work/$1.conf"
}

# Without --fast-dns-retry dnsmasq never retries by itself, and every miss in the outage would be a failure.
start_dnsmasq() {
    local primaries=("${addresses[@]/#/--server=}")
    start dnsmasq dnsmasq --keep-in-foreground --conf-file=/dev/null --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="${ports[dnsmasq]}" --no-resolv --no-hosts --no-poll \
        "${primaries[@]/%/"#${primary[dnsmasq]}"}" --server="127.0.0.1#${second[dnsmasq]}" --fast-dns-retry \
        --cache-size=10000 --dns-forward-max=1000 --use-stale-cache
}

# It asks all servers at once. Its pings and connections to the addresses would leave the machine, so they are off.
start_smartdns() {
    cat >"$work/smartdns.conf" <<END
bind 127.0.0.1:${ports[smartdns]}
$(printf "server %s:${primary[smartdns]}\n" "${addresses[@]}")
server 127.0.0.1:${second[smartdns]}
cache-size 16384
cache-persist no
prefetch-domain yes
serve-expired yes
speed-check-mode none
response-mode fastest-response
dualstack-ip-selection no
log-level fatal
log-file /dev/null
audit-enable no
END
    start smartdns smartdns -f -c "$work/smartdns.conf" -p "$work/smartdns.pid"
}

start_server() {
    free_port
    ports[$1]=$port
    case $1 in
    floor) start floor "$bin/echo-floor" "$port" ;;
    httpdnsd) start_httpdnsd "$1" json /resolve "" ;;
    httpdnsd-batch) start_httpdnsd "$1" dnspod-https /d "key-file = \"$work/token\"" ;;
    unbound) start_unbound "$1" "prefetch: no" ;;
    unbound-prefetch) start_unbound "$1" "prefetch: yes" ;;
    unbound-stale) start_unbound "$1" "prefetch: yes
    serve-expired: yes" ;;
    unbound-1800) start_unbound "$1" "prefetch: yes
    serve-expired: yes
    serve-expired-client-timeout: 1800" ;;
    dnsmasq) start_dnsmasq ;;
    smartdns) start_smartdns ;;
    esac
}

# MARK: measuring

play() {
    local server arguments=()
    for server in "${servers[@]}"; do arguments+=("$server=${ports[$server]}"); done
    $realtime "$bin/replay-load" "$begin" "$outageBegin" "$outageEnd" "$seconds" "$names" "$domains" \
        "$rate" "$seed" "${WAITS:-$work/waits}" "${arguments[@]}" >"$work/figures" ||
        fail "no figures: $(tail -n 2 "$work"/*.log)"
    for server in "${servers[@]}"; do
        kill -0 "${pids[$server]}" 2>/dev/null || fail "$server ended: $(tail -n 3 "$work/$server.log")"
        case $server in
        httpdnsd*) .build/release/httpdnsctl --socket "$work/$server.sock" stats >"$work/$server.stats" ;;
        esac
    done
    stop upstream
    tail -n "${#servers[@]}" "$work/upstream.log" | paste -d ' ' "$work/figures" - >"$work/lines"
}

# MARK: report

versions() {
    .build/release/httpdnsd --version
    unbound -V | sed -n '1s/^Version /unbound /p'
    dnsmasq --version | sed -n '1s/^Dnsmasq version \([^ ]*\).*/dnsmasq \1/p'
    smartdns -v
}

# The fields of a line are those of replay-load and, from 20 on, those of replay-upstream.
latency_table() {
    local form='%-16s %7s %7s %7s %7s  %8s %7s %7s %7s  %12s %6s %7s  %11s %11s'
    awk -v form="$form\n" 'BEGIN {
            printf form, "", "", "all,", "", "", "repeats", "repeats", "", "", "expired,", "worst", "in the",
                "failures", "no answer/"
            printf form, "server", "queries", "p50 ms", "p99", "p99.9", "<5 ms, %", "p50 ms", "p99", "p99.9",
                "healthy", "by, s", "outage", "pre/in/post", "refused/bad"
        }
        function tenths(value) { return sprintf("%.1f", value) }
        { printf form, $1, $2, sprintf("%.2f", $5), tenths($6), tenths($7), sprintf("%.2f", 100 * $4 / $3),
            sprintf("%.2f", $8), tenths($9), tenths($10),
            sprintf("%d (%.1f%%)", $11, 100 * $11 / $2), tenths($13), $12, $14 "/" $15 "/" $16,
            $17 "/" $18 "/" $19 }' "$work/lines"
}

upstream_table() {
    local form='%-16s %9s %8s %8s %9s %8s %9s %10s %10s'
    awk -v form="$form\n" 'BEGIN {
            printf form, "", "primary,", "", "in the", "second,", "in the", "requests", "requests/", "names/"
            printf form, "server", "requests", "names", "outage", "requests", "outage", "per query", "unbound",
                "unbound"
        }
        { line[NR] = $0 }
        $1 == "unbound" { plain = $20 + $24 }
        END {
            for (row = 1; row <= NR; row++) {
                $0 = line[row]
                if ($1 == "floor") continue
                printf form, $1, $20, $21, $22, $24, $25, sprintf("%.3f", ($20 + $24) / $2),
                    sprintf("%.2f", ($20 + $24) / plain), sprintf("%.2f", ($21 + $24) / plain)
            }
        }' "$work/lines"
}

# What httpdnsd itself counted and is not zero.
own_account() {
    local server
    for server in "${servers[@]}"; do
        case $server in httpdnsd*) ;; *) continue ;; esac
        echo "$server says of itself:"
        grep -E '^(responses|prefetch|stale|providers|system|dropped)\..* [1-9][0-9]*$' "$work/$server.stats" |
            sed 's/  */ /' | paste -sd ';' | sed 's/;/; /g' | fold -s -w 116 | sed 's/^/    /'
    done
}

# figure SERVER EXPRESSION: of that server's fields; `plain` is what unbound without prefetch asks for.
figure() {
    awk -v server="$1" '$1 == "unbound" { plain = $20 + $24 } $1 == server { line = $0 }
        END { $0 = line; printf "%.6g", '"$2"' }' "$work/lines"
}

judge() {
    goal "$1: repeats that took 5 ms or failed, %:" "$(figure "$1" '100 * (1 - $4 / $3)')" "$maxSlowPercent"
    goal "$1: expired answers while the primary works:" "$(figure "$1" '$11')" "$maxExpired"
    goal "$1: failures:" "$(figure "$1" '$14 + $15 + $16')" "$maxFailures"
    [ "$outage:$rate" = "silent:$usualRate" ] || return 0
    goal "$1: names asked upstream, over unbound without prefetch:" "$(figure "$1" '($21 + $24) / plain')" \
        "$maxRequestRatio"
    [ "$1" != httpdnsd-batch ] ||
        goal "$1: HTTP requests, over requests of unbound without prefetch:" "$(figure "$1" '$20 / plain')" \
            "$maxBatchedRatio"
}

report() {
    echo "$names names of $domains domains, $(figure httpdnsd '$2') queries in $seconds s for each server, outage ($outage) from" \
        "$outageBegin s to $outageEnd s, seed $seed"
    versions | paste -sd , | sed 's/,/, /g'
    echo
    latency_table
    echo
    upstream_table
    echo
    own_account
    echo
    local server
    for server in "${servers[@]}"; do
        case $server in httpdnsd*) judge "$server" ;; esac
    done
}

addresses=(127.0.0.1)
case $outage in
silent | failing | throttling | resetting | slow) ;;
one-address) addresses+=(127.0.0.2) ;;
*) fail "no outage $outage" ;;
esac
PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
read_optional_settings
if ! can_batch; then
    echo "bench: this httpdnsd has no dialect that batches" >&2
    servers=("${servers[@]:0:2}" "${servers[@]:3}")
fi
realtime=$(scheduling || true)
start_upstreams
for server in "${servers[@]}"; do start_server "$server"; done
play
report
exit "$status"
