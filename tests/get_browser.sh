#!/bin/sh
# Sees to it that there is a Chromium for tests/html: one at hand is taken, else Debian's package is installed where this
# may be done (as root, with apt-get). Never fails: without a browser its tests are skipped.
for name in "$IND_BROWSER" chromium chromium-browser google-chrome google-chrome-stable chrome; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo 'setup: installing chromium' >&2
    export DEBIAN_FRONTEND=noninteractive
    install='apt-get install -y -qq --no-install-recommends chromium'
    if { timeout 300 $install || { timeout 120 apt-get update -qq && timeout 300 $install; }; } >/dev/null 2>&1; then exit 0; fi
fi
echo 'setup: there is no Chromium and it cannot be installed; the tests of the HTML page are skipped' >&2
exit 0
