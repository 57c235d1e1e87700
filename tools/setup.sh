#!/bin/sh
# Installs what is named into a virtual environment, and says how long it has been at it:
#   tools/setup.sh PYTHON VENV WHAT...
# It is started in the checkout, and takes the versions of requirements.lock, for what builds the package too (older pips
# read the first variable there, newer ones the second).
# pip's warnings (of its cache, its version, the machine) are not shown, its errors are.
set -eu
python=$1 venv=$2
shift 2
export PIP_CONSTRAINT=requirements.lock PIP_BUILD_CONSTRAINT=requirements.lock

log=$(mktemp)
work() {
    [ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
    "$venv/bin/pip" install -qq --no-input --disable-pip-version-check --no-compile "$@"
}
work "$@" >"$log" 2>&1 &
job=$!
trap 'kill $job 2>/dev/null; rm -f "$log"; exit 130' INT TERM
seconds=0
while kill -0 $job 2>/dev/null; do
    if [ -t 2 ]; then
        printf '\r%4d s  setting up %s' $seconds "$venv" >&2
    elif [ $((seconds % 10)) -eq 0 ]; then
        echo "[$seconds s] setting up $venv" >&2
    fi
    sleep 1
    seconds=$((seconds + 1))
done
[ ! -t 2 ] || printf '\r\033[2K' >&2
if wait $job; then
    echo "setting up $venv: $seconds s" >&2
    rm -f "$log"
else
    echo "setting up $venv failed:" >&2
    cat "$log" >&2
    rm -f "$log"
    exit 1
fi
