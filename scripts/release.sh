#!/usr/bin/env bash
# Builds the command for four systems, as archives with the licences in them, and their checksums.
# The same revision and Go version give the same bytes on every machine: paths are trimmed, times
# are the revision's.
#
#   scripts/release.sh [FOLDER]     default: build/release
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:-build/release}
platforms=${PLATFORMS:-linux/amd64 linux/arm64 windows/amd64 darwin/arm64}
if [ -n "$(git status --porcelain)" ]; then
	echo "release: the tree has changes; commit them first" >&2
	exit 1
fi
version=$(git describe --tags --always)
seconds=$(git log -1 --format=%ct)
rm -rf "$out"
mkdir -p "$out"

# licences DIR PLATFORM writes the licence texts of the modules that the command links on a system,
# which those licences ask for.
licences() {
	GOOS=${2%/*} GOARCH=${2#*/} CGO_ENABLED=0 go list -deps \
		-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/tandem |
		LC_ALL=C sort -u | while read -r module tag dir; do
		for f in "$dir"/LICEN[CS]E* "$dir"/licenses/* "$dir"/THIRD_PARTY_LICENSES/*; do
			[ ! -f "$f" ] || printf '=== %s %s: %s\n\n%s\n\n' "$module" "$tag" "${f##*/}" "$(cat "$f")"
		done
	done >"$1/THIRD_PARTY_LICENSES.txt"
}

for p in $platforms; do
	name=tandem-$version-${p%/*}-${p#*/}
	dir=$out/$name
	mkdir "$dir"
	exe=tandem
	[ "${p%/*}" != windows ] || exe=tandem.exe
	GOOS=${p%/*} GOARCH=${p#*/} GOAMD64=v1 CGO_ENABLED=0 GOFLAGS='' \
		go build -trimpath -buildvcs=true -ldflags '-s -w -buildid=' -o "$dir/$exe" ./cmd/tandem
	licences "$dir" "$p"
	cp LICENSE THIRD_PARTY.md README.md "$dir"
	chmod 755 "$dir" "$dir/$exe"
	chmod 644 "$dir"/*.md "$dir"/*.txt "$dir/LICENSE"
	tar -C "$out" --sort=name --format=ustar --mtime="@$seconds" --owner=0 --group=0 --numeric-owner -cf - "$name" |
		gzip -9n >"$dir.tar.gz"
	rm -r "$dir"
done
(cd "$out" && sha256sum -- *.tar.gz | tee SHA256SUMS)
