# What a list of names costs: time and memory with 120,000 names and with a million, beside smartdns and dnsmasq; and
# whether queries are lost while it is read again. Started by scripts/bench. What a look-up costs in instructions:
# scripts/bench instructions.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

sizes=(120000 1000000)
pace=1000
seconds=20
reloads=8
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    sizes=(1000 5000) pace=100 seconds=3 reloads=2 isSmoke=true
fi

# The goals, for each of the sizes.
maxKB=(8192 65536)
maxLoadSeconds=(0.2 2)
maxLost=0

declare -A pids=() ports=()
. Tests/Benchmarks/harness
realtime=
servers=(httpdnsd smartdns dnsmasq)

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

# names COUNT SALT: about as long as those of public lists.
names() { seq 1 "$1" | sed "s/.*/n&x$2.list.example/"; }

# write_list SERVER COUNT SALT
write_list() {
    case $1 in
    smartdns) names "$2" "$3" ;;
    *) names "$2" "$3" | sed "s|.*|server=/&/127.0.0.1#$dns|" ;;
    esac >"$work/$1.new"
    chmod 0644 "$work/$1.new"
    mv "$work/$1.new" "$work/$1.list"
}

# MARK: servers, each on $port with the list of its name

start_httpdnsd() {
    settings_on_instant_upstream 'cache.store = ""' 'server.threads = 1'
    printf '[[rule]]\nmatch-file = ["%s"]\nresolver = "system"\n' "$work/httpdnsd.list" >>"$work/httpdnsd.toml"
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
}

start_smartdns() {
    cat >"$work/smartdns.conf" <<END
bind 127.0.0.1:$port
server 127.0.0.1:$dns
cache-size 0
speed-check-mode none
log-level fatal
domain-set -name list -type list -file $work/smartdns.list
address /domain-set:list/192.0.2.1
END
    start smartdns smartdns -f -x -c "$work/smartdns.conf" -p "$work/smartdns.pid"
}

# Not in a servers-file, which SIGHUP makes it read again: that takes more than a minute for 120,000 names.
start_dnsmasq() {
    start dnsmasq dnsmasq --keep-in-foreground --conf-file="$work/dnsmasq.list" --pid-file= --user="$(id -un)" \
        --listen-address=127.0.0.1 --bind-interfaces --port="$port" --no-resolv --no-hosts --no-poll \
        --server="127.0.0.1#$dns" --dns-forward-max=1000 --cache-size=0
}

answers() { dig @127.0.0.1 -p "$port" +tries=1 +timeout=1 probe.bench.example A 2>/dev/null | grep -q NOERROR; }

now() { date +%s.%N; }

# start_and_time SERVER: seconds until it answers.
start_and_time() {
    local begun
    begun=$(now)
    "start_$1"
    until answers; do
        kill -0 "${pids[$1]}" 2>/dev/null || fail "$1 did not start: $(tail -n 3 "$work/$1.log")"
    done
    took=$(awk -v begun="$begun" -v ended="$(now)" 'BEGIN { printf "%.3f\n", ended - begun }')
}

memory_kB() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/${pids[$1]}/status"; }

# MARK: measuring

# measure SERVER COUNT: what a list of COUNT names takes more than one of a name, and queries while it is read again.
measure() {
    local emptyKB emptyPeakKB emptySeconds fullKB fullSeconds peakKB=0 restKB=0 lost=- slowest=- turn load
    free_port
    write_list "$1" 1 0
    start_and_time "$1"
    emptyKB=$(memory_kB "$1" RssAnon) emptySeconds=$took
    emptyPeakKB=$(memory_kB "$1" VmHWM)
    stop "$1"
    write_list "$1" "$2" 0
    start_and_time "$1"
    fullKB=$(memory_kB "$1" RssAnon) fullSeconds=$took
    if [ "$1" = httpdnsd ]; then
        # Before the queries, whose answers take memory as well.
        for turn in a b c; do
            write_list "$1" "$2" "$turn"
            sleep 2
        done
        restKB=$(($(memory_kB "$1" RssAnon) - emptyKB))
        peakKB=$(($(memory_kB "$1" VmHWM) - emptyPeakKB))
        seq 1 $((pace * seconds)) | awk '{ print ($1 % 2 ? "w" $1 ".n" $1 "x" ($1 % 9) ".list.example A" : "w" $1 ".bench.example A") }' \
            >"$work/questions"
        dnsperf -s 127.0.0.1 -p "$port" -d "$work/questions" -t 5 -e -Q "$pace" >"$work/report" 2>&1 &
        load=$!
        for ((turn = 1; turn <= reloads; turn++)); do
            sleep $((seconds / (reloads + 1)))
            write_list "$1" "$2" "$turn"
        done
        wait "$load" || fail "no load on $1: $(tail -n 3 "$work/report")"
        lost=$(awk '/Queries lost/ { print $3 }' "$work/report")
        slowest=$(awk '/Average Latency/ && match($0, /max [0-9.]+/) { print substr($0, RSTART + 4, RLENGTH - 4) * 1000 }' \
            "$work/report")
    else
        peakKB=$(($(memory_kB "$1" VmHWM) - emptyPeakKB)) restKB=-
    fi
    stop "$1"
    echo "$1 $2 $(awk -v a="$fullSeconds" -v b="$emptySeconds" 'BEGIN { printf "%.3f", (a > b ? a - b : 0) }')" \
        "$((fullKB - emptyKB)) $restKB $peakKB $lost $slowest" >>"$work/lines"
}

report() {
    local index
    for index in "${!sizes[@]}"; do
        {
            printf '%-9s %8s %9s %10s %9s %6s %11s\n' server "load s" "memory kB" "reread kB" "peak kB" lost "slowest ms"
            awk -v size="${sizes[index]}" '$2 == size {
                printf "%-9s %8s %9s %10s %9s %6s %11s\n", $1, $3, $4, $5, $6, $7, $8 }' "$work/lines"
        } >"$work/table"
        echo "${sizes[index]} names, over a list of one; $pace new names a second while it is read again $reloads times"
        cat "$work/table"
        goal "memory, kB:" "$(value httpdnsd 3)" "${maxKB[index]}"
        goal "memory after reading again, kB:" "$(value httpdnsd 4)" "${maxKB[index]}"
        goal "seconds to load:" "$(value httpdnsd 2)" "${maxLoadSeconds[index]}"
        goal "queries lost:" "$(value httpdnsd 6)" "$maxLost"
        echo
    done
}

PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}" bind9-dnsutils
build
start_instant_upstream
for size in "${sizes[@]}"; do
    for server in "${servers[@]}"; do
        progress "$server with $size names ..."
        measure "$server" "$size"
    done
done
progress ""
report
exit "$status"
