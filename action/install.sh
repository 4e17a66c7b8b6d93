#!/usr/bin/env bash
# Finds or installs the binary and tells where it is in the output `binary`.
#
# FOREBAY_PATH     a binary to use as it is
# FOREBAY_VERSION  a release to download, checked against its checksums
# neither          the release of this checkout's version, downloaded as well; where
#                  there is none, or the checkout lies in the workspace, this is built
set -euo pipefail
here="${BASH_SOURCE[0]%/*}"
source_directory="$(cd -P -- "$here/.." && pwd -P)"
# shellcheck source=action/outside.sh
. "$source_directory/action/outside.sh"

fail() {
  printf 'forebay: %s\n' "$1" >&2
  exit 2
}

finish() {
  printf 'binary=%s\n' "$1" >>"${GITHUB_OUTPUT:-/dev/stdout}"
  exit 0
}

if [ -n "${FOREBAY_PATH:-}" ]; then
  # As a step of the workflow would name it.
  cd "$workspace"
  [ -f "$FOREBAY_PATH" ] && [ -x "$FOREBAY_PATH" ] || fail "the input path is no executable file"
  case "$FOREBAY_PATH" in
    /* | [A-Za-z]:[\\/]*) finish "$FOREBAY_PATH" ;;
    *) finish "$workspace/$FOREBAY_PATH" ;;
  esac
fi

temporary="${RUNNER_TEMP:-$(mktemp -d)}"
cache="${RUNNER_TOOL_CACHE:-$temporary}/forebay"
mkdir -p "$cache"
cd "$cache"

# Nothing where there is no release of these systems.
target_of_this_machine() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    MINGW*-x86_64 | MSYS*-x86_64) echo x86_64-pc-windows-msvc ;;
  esac
}

# Answers whether it is there; whatever else goes wrong ends the step.
fetched() { # URL FILE
  local status
  status="$(scrub && exec curl --proto '=https' --tlsv1.2 -sSL --retry 3 -w '%{http_code}' -o "$2" "$1")" ||
    fail "$1 can't be fetched"
  case "$status" in
    200) ;;
    404) return 1 ;;
    *) fail "$1 can't be fetched: status $status" ;;
  esac
}

# Ends with the binary of a release; comes back where there is none.
use_release() { # VERSION
  local target url archive work suffix='' directory
  target="$(target_of_this_machine)"
  [ -n "$target" ] || return 0
  case "$target" in *windows*) suffix=.exe ;; esac
  directory="$cache/$1/$target"
  [ ! -x "$directory/forebay$suffix" ] || finish "$directory/forebay$suffix"

  url="https://github.com/forebay/forebay/releases/download/v$1"
  archive="forebay-$1-$target.tar.gz"
  work="$(mktemp -d "$cache/new.XXXXXX")"
  cd "$work"
  if ! fetched "$url/$archive" "$archive"; then
    cd "$cache"
    rm -rf "$work"
    return 0
  fi
  fetched "$url/SHA256SUMS" SHA256SUMS || fail "the release $1 has no checksums"
  grep -F "  $archive" SHA256SUMS >checksum || fail "the release has no checksum of $archive"
  if command -v sha256sum >/dev/null; then
    sha256sum -c checksum >&2 || fail "$archive is not what the release says"
  else
    shasum -a 256 -c checksum >&2 || fail "$archive is not what the release says"
  fi
  tar -xzf "$archive" --strip-components 1
  mkdir -p "$directory"
  # At once: another job may do the same.
  mv -f "forebay$suffix" "$directory/forebay$suffix"
  cd "$cache"
  rm -rf "$work"
  finish "$directory/forebay$suffix"
}

if [ -n "${FOREBAY_VERSION:-}" ]; then
  [[ "$FOREBAY_VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "the input version is no MAJOR.MINOR.PATCH"
  use_release "$FOREBAY_VERSION"
  fail "there is no release $FOREBAY_VERSION for $(uname -s) on $(uname -m)"
fi

if is_outside "$source_directory"; then
  use_release "$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source_directory/Cargo.toml" | head -n 1)"
fi

command -v cargo >/dev/null || fail "cargo is needed to build forebay; install it, or set the input version or path"
build "$source_directory" "$temporary/forebay-build"
# The second where cargo is configured to build for a target by name.
for made in "$temporary/forebay-build/hook/forebay" "$temporary"/forebay-build/*/hook/forebay; do
  for binary in "$made" "$made.exe"; do
    [ ! -x "$binary" ] || finish "$binary"
  done
done
fail "forebay was built, and is not where cargo puts it"
