# The promise that plain DNS is the last resort, over 2,000 random worlds on a virtual clock. Started by scripts/bench;
# SEED=N begins with another world. In debug: five minutes, as long as a release build of these tests would take.
set -euo pipefail
cd "$(dirname "$0")/../.."

export PROMISE_SEED=${SEED:-1} PROMISE_WORLDS=2000
if [ "${1:-}" = --smoke ]; then export PROMISE_WORLDS=20; fi

# A crash must end the run at once, not start a symboliser.
export SWIFT_BACKTRACE=enable=no
exec swift test --disable-xctest --filter ProviderPromiseTests
