#!/usr/bin/env bash
# Runs tests as Windows programs under Wine, on Debian: scripts/wine.sh [package ...]. Wine's OpenCL
# is the host's. What Wine 8 lacks for programs of Go 1.26 is added: a source of random numbers, and
# the answer that it cannot delete a file that is open, which Go asks for first.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./backend/... ./exact ./internal/clock ./internal/host ./internal/npy \
	./internal/parallel ./internal/solve ./internal/tuning ./kernels ./linalg/... ./array/... \
	./conformance ./rmath
# These need a go command, Python, or an environment that reaches the host's libraries.
skip='^Test(LinksWhatItUses|Generated|NothingIsFused|PoCLCacheIsFile|Reproduce)$'

missing=$(for p in wine wine64 gcc-mingw-w64-x86-64-win32; do dpkg -s $p >/dev/null 2>&1 || echo $p; done)
[ -z "$missing" ] || apt-get install -y -qq --no-install-recommends $missing

dir=$PWD/build/wine
export WINEPREFIX=$dir/prefix WINEDEBUG=-all
if [ ! -f "$dir/overlay.json" ]; then
	mkdir -p "$dir"
	wine wineboot -i
	x86_64-w64-mingw32-gcc -shared -O2 -x c - -ladvapi32 \
		-o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" <<-'END'
		#include <windows.h>
		#include <ntsecapi.h>
		__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *p, SIZE_T n) { return RtlGenRandom(p, n); }
	END
	go=$(go env GOROOT)/src/internal/syscall/windows/at_windows.go
	not_implemented='NTStatus(0xC0000002)'
	sed "s/case STATUS_INVALID_INFO_CLASS,/case $not_implemented, STATUS_INVALID_INFO_CLASS,/" "$go" >"$dir/at_windows"
	echo "{\"Replace\": {\"$go\": \"$dir/at_windows\"}}" >"$dir/overlay.json"
fi
# What Wine starts beside the first program would keep go test's pipe open.
wineserver -p || true # it runs already
wine wineboot >/dev/null 2>&1
trap 'wineserver -k' EXIT
# Go interrupts threads to preempt goroutines; one that is in the host's library hangs then.
export CGO_ENABLED=0 GOOS=windows GODEBUG=asyncpreemptoff=1
go test -vet=off -short -timeout 15m -overlay "$dir/overlay.json" -exec wine -skip "$skip" "$@"
