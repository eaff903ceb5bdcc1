#!/bin/sh
# Writes the program $1, which runs a Python 3 that has the packages in $2 (tests/requirements.txt): the system's own where
# it already does, else one in .venv, else one with them in a folder beside $1 (no venv, and no right to install it).
set -eu
out=$1
here=$(pwd)
requirements=${2:-tests/requirements.txt}
modules=$(sed -n 's/==.*//; s/^pytest-//; /^#/!p' "$requirements" | paste -sd, -)
libraries=$here/$(dirname "$out")/pylib

write() { # $1: the line that runs Python
    printf '#!/bin/sh\n%s "$@"\n' "$1" > "$out"
    chmod +x "$out"
}

if python3 -c "import $modules" 2>/dev/null; then
    write 'exec python3'
    exit 0
fi
if ! python3 -c 'import venv, ensurepip' 2>/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo 'setup: installing python3-venv with apt-get'
    { apt-get update -qq && apt-get install -y -qq python3-venv; } >/dev/null 2>&1 || true
fi
if [ -x .venv/bin/python ] || python3 -m venv .venv 2>/dev/null; then
    echo "setup: installing $(grep -v '^#' $requirements | tr '\n' ' ')into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check -r $requirements
    write "exec '$here/.venv/bin/python'"
elif python3 -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    echo "setup: no venv here; installing $(grep -v '^#' $requirements | tr '\n' ' ')into $libraries"
    python3 -m pip install -q --disable-pip-version-check --target "$libraries" -r $requirements
    write "PYTHONPATH='$libraries'\${PYTHONPATH:+:\$PYTHONPATH} exec python3"
else
    rm -rf .venv
    echo 'setup: python3 has neither venv nor pip; install one of them, or '"$modules" >&2
    exit 1
fi
