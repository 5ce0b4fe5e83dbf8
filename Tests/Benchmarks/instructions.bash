# How many instructions a cache hit, a cache miss and the parsing of a reply take, by valgrind: of the modules without
# I/O, and of the whole process beside smartdns and unbound, and over HTTP/1.1. Judged by a stored baseline. Started by
# scripts/bench.
# UPDATE=1 writes the baseline.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

fewer=1000
more=4000
warmNames=10000 # more than the 8,192 names that httpdnsd plans refreshes for
singleNames=1000
burstNames=4000
bursts=3
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    fewer=100 more=200 warmNames=100 singleNames=20 burstNames=100 bursts=1 isSmoke=true
fi
outstanding=100

# The goals: instructions over the baseline's; of the whole process per miss, one after the other and in a burst.
maxRatio=1.015
maxSingle=105000
maxBurst=85000

baseline=Tests/Benchmarks/instructions.txt
works=(hit miss listed parse json)
# The last one is httpdnsd over HTTP/1.1.
servers=(httpdnsd smartdns unbound http1)
unbound_lines=()
declare -A pids=() ports=()
. Tests/Benchmarks/harness
. Tests/Benchmarks/servers

# A server that root starts would change its user, and valgrind could no longer open its pipes. So it runs as the owner
# of the folder from the start.
as_owner=()
if [ "$(id -u)" -eq 0 ]; then
    owner=$(stat -c %U "$work")
    as_owner=(setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups)
fi

# MARK: modules without I/O

# count WORK REPETITIONS: instructions of the whole program. The seed of Swift's hash tables is fixed.
count() {
    local report=$work/report
    SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bin/instruction-load" \
        "$1" "$2" >"$report" 2>&1 || fail "$1 failed: $(cat "$report")"
    awk '/Collected : / { count = $NF } END { if (count == "") exit 1; print count }' "$report" ||
        fail "no count for $1: $(cat "$report")"
}

# measure_work WORK: instructions of one repetition.
measure_work() {
    local few many
    few=$(count "$1" "$fewer")
    many=$(count "$1" "$more")
    [ "$many" -gt "$few" ] || fail "$1: $more repetitions took no more than $fewer"
    echo "$1 $(((many - few) / (more - fewer)))" >>"$work/counts"
}

# MARK: whole processes

# Starts nginx as a server of HTTP/1.1 in front of the upstream, and httpdnsd on it.
start_http1() {
    local listening=$port
    free_port
    cat >"$work/nginx.conf" <<END
daemon off; worker_processes 1; pid $work/nginx.pid; error_log stderr crit; user nobody nogroup;
events { worker_connections 1024; }
http {
    access_log off; keepalive_requests 1000000;
    client_body_temp_path $work/body; proxy_temp_path $work/proxy; fastcgi_temp_path $work/fastcgi;
    uwsgi_temp_path $work/uwsgi; scgi_temp_path $work/scgi;
    upstream dnsdist { server 127.0.0.1:$doh; keepalive 64; }
    server {
        listen 127.0.0.1:$port ssl; ssl_certificate $work/cert.pem; ssl_certificate_key $work/key.pem;
        location / { proxy_pass https://dnsdist; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
}
END
    doh=$port
    start nginx taskset -c 1 nginx -p "$work" -e stderr -c "$work/nginx.conf"
    await nginx is_listening "$doh"
    port=$listening
    start_httpdnsd_as http1 'server.threads = 1' "$no_system_resolver" "$(provider upstream 127.0.0.1)"
}

# is_answering SERVER: smartdns listens for some seconds before it can ask.
is_answering() {
    questions 1 1
    ask "$1" -c 1 -q 1
    grep -q NOERROR "$work/report"
}

# start_counting SERVER: valgrind looks every 50 blocks whether it is to write its counts.
start_counting() {
    free_port
    ports[$1]=$port
    next=2 # is_answering asks for the first name
    dumps=0
    server_prefix=("${as_owner[@]}" env SWIFT_DETERMINISTIC_HASHING=1 valgrind --tool=callgrind --vgdb-poll=50
        "--vgdb-prefix=$work/vgdb" "--callgrind-out-file=$work/$1.calls")
    server_program=$work/httpdnsd
    "start_$1"
    await "$1" is_listening "$port"
    await "$1" is_answering "$1"
}

# dump SERVER: sets `instructions` to those of all threads since the last dump. A server at rest executes too little to
# notice the command, so it gets hits meanwhile.
dump() {
    local vgdb
    "${as_owner[@]}" vgdb "--vgdb-prefix=$work/vgdb" "--pid=${pids[$1]}" --max-invoke-ms=0 dump >"$work/vgdb.log" 2>&1 &
    vgdb=$!
    questions 1 1
    while kill -0 "$vgdb" 2>/dev/null; do ask "$1" -c 1 -q 1; done
    wait "$vgdb" || fail "no counts of $1: $(cat "$work/vgdb.log")"
    dumps=$((dumps + 1))
    instructions=$(awk '/^totals:/ { print $2 }' "$work/$1.calls.$dumps")
    [ "${instructions:-0}" -gt 0 ] || fail "valgrind has counted nothing of $1: $(tail -n 3 "$work/$1.log")"
}

# count_misses SERVER NAMES OUTSTANDING: sets `each` to the instructions of a miss. SERVER gets NAMES new names.
count_misses() {
    questions "$next" "$2"
    next=$((next + $2))
    ask "$1" -c 1 -q "$3"
    [ "$(lost "$2")" -eq 0 ] || fail "$1: $(lost "$2") of $2 questions have no answer"
    dump "$1"
    each=$((instructions / $2))
}

# measure_server SERVER: a line with the instructions of a miss: one after the other, then in bursts, the median of
# `bursts`.
measure_server() {
    local burst single
    progress "$1 ..."
    start_counting "$1"
    count_misses "$1" "$warmNames" "$outstanding"
    count_misses "$1" "$singleNames" 1
    single=$each
    for ((burst = 0; burst < bursts; burst++)); do
        count_misses "$1" "$burstNames" "$outstanding"
        echo "$each" >>"$work/$1.bursts"
    done
    stop "$1"
    progress ""
    awk -v server="$1" -v single="$single" "$awk_median"'
        { all[NR] = $1 }
        END { middle = median(all, NR); print server, single, middle, lowest, highest }' "$work/$1.bursts" \
        >>"$work/misses"
}

# MARK: report

# over_baseline NAME INSTRUCTIONS
over_baseline() {
    local before
    before=$(awk -v name="$1" '$1 == name { print $2 }' "$baseline")
    echo "$1: $2 instructions, baseline ${before:-none}"
    goal "$1 over the baseline:" "$(awk -v now="$2" -v before="${before:-0}" \
        'BEGIN { if (before > 0) printf "%.3f\n", now / before }')" "$maxRatio"
}

# instructions_of SERVER COLUMN
instructions_of() { awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/misses"; }

# over_cheapest COLUMN: httpdnsd's instructions over those of the cheapest peer.
over_cheapest() {
    awk -v column="$1" '
        $1 == "http1" { next }
        $1 == "httpdnsd" { ours = $column; next }
        best == "" || $column < best { best = $column }
        END { printf "%.2f\n", ours / best }' "$work/misses"
}

report() {
    local name count
    echo "instructions of the whole process per miss: $singleNames names one after the other; the median of $bursts" \
        "bursts of $burstNames names, $outstanding outstanding"
    awk 'BEGIN { printf "%-9s %8s %8s %16s\n", "server", "single", "burst", "range" }
        { printf "%-9s %8d %8d %16s\n", $1, $2, $3, $4 "-" $5 }' "$work/misses"
    echo "httpdnsd over the cheapest peer: single $(over_cheapest 2), burst $(over_cheapest 3)"
    echo
    while read -r name count; do over_baseline "$name" "$count"; done <"$work/counts"
    # Told, and not judged: the tests run this benchmark, and a change is to be judged by the baseline alone.
    (goal "instructions per miss, one after the other:" "$(instructions_of httpdnsd 2)" "$maxSingle")
    (goal "instructions per miss, in a burst:" "$(instructions_of httpdnsd 3)" "$maxBurst")
}

PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build_for_valgrind instruction-load
build_for_valgrind httpdnsd
install -m 0755 "$bin/httpdnsd" "$work" # the owner of the folder need not be able to read $bin
realtime=
for name in "${works[@]}"; do measure_work "$name"; done
start_upstream
for server in "${servers[@]}"; do measure_server "$server"; done
{
    echo "single $(instructions_of httpdnsd 2)"
    echo "burst $(instructions_of httpdnsd 3)"
    echo "single-http1 $(instructions_of http1 2)"
    echo "burst-http1 $(instructions_of http1 3)"
} >>"$work/counts"
if [ "${UPDATE:-}" ] && ! $isSmoke; then cp "$work/counts" "$baseline"; fi
report
exit "$status"
