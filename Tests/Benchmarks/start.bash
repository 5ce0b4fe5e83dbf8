# How soon httpdnsd answers after a start with a large store: started on 100,000 entries and on none, in turns, and
# asked every millisecond from exec on. Started by scripts/bench.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/debian-packages

entries=100000
rounds=11
isSmoke=false
if [ "${1:-}" = --smoke ]; then
    entries=1000 rounds=1 isSmoke=true
fi

# The goals. The least delay there was is judged: other work of the machine only adds to it, in some of the rounds, and
# a load that is waited for adds to all of them.
maxLoadMilliseconds=300
maxDelayMilliseconds=5
maxUnanswered=0

# empty: a store without entries. full: with the file in memory, as after a restart of the service. cold: with the file
# on the disk only, as after a restart of the machine.
candidates=(empty full cold)
declare -A pids=()
. Tests/Benchmarks/harness
realtime= # the threads of one process compete here, and real-time priority would change their order

build() {
    compile instant-upstream instant-upstream.c replay-messages.c
    compile names-load names-load.c
    compile start-load start-load.c
    swift build -c release --static-swift-stdlib --product httpdnsd
}

# write_settings STORE: for a port that is free now.
write_settings() {
    free_port
    settings_on_instant_upstream "cache.store = \"$1\""
}

# make_store FILE COUNT: by the daemon itself, as every store is.
make_store() {
    write_settings "$work/$1"
    start httpdnsd .build/release/httpdnsd --config "$work/httpdnsd.toml"
    await httpdnsd grep -q ' answers loaded from ' "$work/httpdnsd.log"
    [ "$2" -eq 0 ] || "$bin/names-load" "$port" 0 "$2" "${pids[httpdnsd]}" >"$work/filling" ||
        fail "the store was not filled: $(tail -n 3 "$work/httpdnsd.log")"
    stop httpdnsd
}

# run CANDIDATE: the line of start-load.
run() {
    local made=full.db
    [ "$1" != empty ] || made=empty.db
    rm -rf "$work/run.db"*
    cp "$work/$made" "$work/run.db"
    # Written and out of the page cache.
    [ "$1" != cold ] || dd of="$work/run.db" oflag=nocache conv=notrunc,fdatasync count=0 status=none
    write_settings "$work/run.db"
    "$bin/start-load" "$port" 0 "$entries" .build/release/httpdnsd --config "$work/httpdnsd.toml" ||
        fail "no measurement of a start"
}

measure() {
    local round candidate
    run full >/dev/null # the program itself is read from the disk once
    for ((round = 0; round < rounds; round++)); do
        for candidate in "${candidates[@]}"; do
            progress "round $((round + 1)) of $rounds: $candidate ..."
            echo "$round $candidate $(run "$candidate")" >>"$work/runs"
        done
    done
    progress ""
    # Those that were asked before their turn came are known better, and left where they are.
    awk -v least="$((entries * 9 / 10))" '$2 != "empty" && $8 < least { exit 1 }' "$work/runs" ||
        fail "not all $entries entries came back: $(awk '{ print $8 }' "$work/runs" | paste -sd ' ')"
}

# MARK: report

# median CANDIDATE EXPRESSION: over the rounds.
median() {
    sorted "$@" |
        awk '{ value[NR] = $1 } END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

# best CANDIDATE EXPRESSION, worst CANDIDATE EXPRESSION: the least and the largest of the rounds.
best() { sorted "$@" | head -n 1; }
worst() { sorted "$@" | tail -n 1; }

sorted() { awk -v candidate="$1" '$2 == candidate { print '"$2"' }' "$work/runs" | sort -g; }

table() {
    local form='%-7s %14s %15s %15s %17s %12s %12s %14s\n' candidate
    printf "$form" "" "ready," "first answer," "load," "without waiting" "asked" "" "longest"
    printf "$form" "store" "ms (worst)" "ms (worst)" "ms (worst)" "for a core" "since ready" "unanswered" \
        "answer, ms"
    for candidate in "${candidates[@]}"; do
        printf "$form" "$candidate" "$(median "$candidate" '$3') ($(worst "$candidate" '$3'))" \
            "$(median "$candidate" '$4') ($(worst "$candidate" '$4'))" \
            "$(median "$candidate" '$6') ($(worst "$candidate" '$6'))" \
            "$(median "$candidate" '$6 - $7') ($(worst "$candidate" '$6 - $7'))" \
            "$(awk -v c="$candidate" '$2 == c { sum += $9 } END { print sum }' "$work/runs")" \
            "$(awk -v c="$candidate" '$2 == c { sum += $9 - $10 } END { print sum }' "$work/runs")" \
            "$(median "$candidate" '$11') ($(worst "$candidate" '$11'))"
    done
}

report() {
    echo "$rounds starts each on a store of $entries entries ($(stat -c %s "$work/full.db") bytes) and on an empty" \
        "one, one query every millisecond"
    table
    echo
    goal "load of $entries entries, as logged, ms:" "$(median full '$6')" \
        "$maxLoadMilliseconds"
    goal "by how much the load delays the first answer, ms:" \
        "$(awk -v full="$(best full '$4')" -v empty="$(best empty '$4')" 'BEGIN { print full - empty }')" \
        "$maxDelayMilliseconds"
    goal "queries since ready without an answer:" \
        "$(awk '{ sum += $9 - $10 } END { print sum }' "$work/runs")" "$maxUnanswered"
}

PATH=$PATH:/usr/sbin
install_missing "${build_packages[@]}" "${bench_packages[@]}"
build
start_instant_upstream
make_store empty.db 0
make_store full.db "$entries"
measure
report
exit "$status"
