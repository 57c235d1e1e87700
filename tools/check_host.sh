#!/bin/sh
# Names, in one line, what the host lacks and the command that installs it.
python=${1:-python3}
missing="" packages=""
lacks() { missing="$missing $1" packages="$packages $2"; }
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    lacks "python3(>=3.11)" python3
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    lacks python3-venv python3-venv
fi
command -v g++ >/dev/null 2>&1 || lacks g++ g++
if [ -n "$missing" ]; then
    echo "missing:$missing; install with: sudo apt-get install$packages" >&2
    exit 1
fi
