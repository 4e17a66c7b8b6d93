#!/usr/bin/env bash
# Finds or installs the binary and tells where it is in the output `binary`.
#
# FOREBAY_PATH     a binary to use as it is
# FOREBAY_VERSION  a release to download, checked against its checksums
# neither          built from the checkout that holds this script
set -euo pipefail

fail() {
  printf 'forebay: %s\n' "$1" >&2
  exit 2
}

finish() {
  printf 'binary=%s\n' "$1" >>"${GITHUB_OUTPUT:-/dev/stdout}"
  exit 0
}

if [ -n "${FOREBAY_PATH:-}" ]; then
  [ -x "$FOREBAY_PATH" ] || fail "the input path is no executable file"
  finish "$FOREBAY_PATH"
fi

cache="${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/forebay"

if [ -n "${FOREBAY_VERSION:-}" ]; then
  [[ "$FOREBAY_VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "the input version is no MAJOR.MINOR.PATCH"
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) target=x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
    Darwin-x86_64) target=x86_64-apple-darwin ;;
    Darwin-arm64) target=aarch64-apple-darwin ;;
    MINGW*-x86_64 | MSYS*-x86_64) target=x86_64-pc-windows-msvc ;;
    *) fail "no release for $(uname -s) on $(uname -m); leave version empty to build it" ;;
  esac
  directory="$cache/$FOREBAY_VERSION/$target"
  binary="$directory/forebay"
  case "$target" in *windows*) binary="$binary.exe" ;; esac
  if [ ! -x "$binary" ]; then
    mkdir -p "$directory"
    url="https://github.com/forebay/forebay/releases/download/v$FOREBAY_VERSION"
    archive="forebay-$FOREBAY_VERSION-$target.tar.gz"
    cd "$directory"
    curl --proto '=https' --tlsv1.2 -sSfL --retry 3 -O "$url/$archive" -O "$url/SHA256SUMS"
    grep -F "  $archive" SHA256SUMS >checksum || fail "the release has no checksum of $archive"
    if command -v sha256sum >/dev/null; then sha256sum -c checksum; else shasum -a 256 -c checksum; fi
    tar -xzf "$archive" --strip-components 1
    rm -f "$archive" SHA256SUMS checksum
  fi
  finish "$binary"
fi

source_directory="$(cd "$(dirname "$0")/.." && pwd)"
command -v cargo >/dev/null || fail "cargo is needed to build forebay; install it, or set the input version or path"
cargo install --quiet --locked --path "$source_directory" --root "$cache/built" >&2
finish "$cache/built/bin/forebay"
