#!/bin/sh
# Names, in one line, what the host lacks and the command that installs it.
python=${1:-python3}
missing=""
command -v "$python" >/dev/null 2>&1 || missing="$missing python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || missing="$missing python3(>=3.11)"
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing="$missing python3-venv"
for tool in g++ make perl; do
    command -v $tool >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
    echo "missing:$missing; install with: sudo apt-get install python3 python3-venv g++ make perl" >&2
    exit 1
fi
