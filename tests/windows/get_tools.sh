#!/bin/sh
# Sees to it that there are mingw-w64's compiler and Wine for tests/windows: Debian's packages are installed where this may be
# done (as root, with apt-get). Never fails: without them the tests are skipped.
has_wine() {
    command -v wine64 >/dev/null 2>&1 || command -v wine >/dev/null 2>&1 || [ -x /usr/lib/wine/wine64 ]
}
command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1 && has_wine && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo 'setup: installing mingw-w64 and Wine (about 1 GB)' >&2
    export DEBIAN_FRONTEND=noninteractive
    install='apt-get install -y -qq --no-install-recommends gcc-mingw-w64-x86-64 wine64'
    if { timeout 600 $install || { timeout 120 apt-get update -qq && timeout 600 $install; }; } >/dev/null 2>&1; then exit 0; fi
fi
echo 'setup: mingw-w64 or Wine is missing and cannot be installed (Debian: gcc-mingw-w64-x86-64, wine64); the tests are skipped' >&2
exit 0
