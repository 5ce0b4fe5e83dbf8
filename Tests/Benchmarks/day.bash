# A simulated day of 8.64 million queries with outages, flaps and sleeps: the real fast path, cache and resolver on a
# virtual clock. Started by scripts/bench; SEED=N runs another day, or one again.
set -euo pipefail
cd "$(dirname "$0")/../.."

export DAY_QUERIES=8640000 DAY_SEED=${SEED:-1} DAY_MOST_SECONDS=60
if [ "${1:-}" = --smoke ]; then
    export DAY_QUERIES=100000
    unset DAY_MOST_SECONDS
fi

# A crash must end the run at once, not start a symboliser.
export SWIFT_BACKTRACE=enable=no
export HTTPDNSD_ONLY_TESTS=ServingTests,DayTests
exec swift test -c release -Xswiftc -enable-testing --scratch-path .build-release-tests --disable-xctest \
    --filter DayTests
