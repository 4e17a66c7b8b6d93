# shellcheck shell=sh
# Sourced first by the scripts of the action and of the hooks. Whoever opens a pull
# request writes the workspace, and so nothing in it may decide what runs: no PATH
# entry, no configuration of cargo or rustup, no home. Builtins only, until PATH is clean.

unset CDPATH BASH_ENV ENV
workspace="$(cd -P -- "${GITHUB_WORKSPACE:-.}" && pwd -P)"
if [ -z "${GITHUB_WORKSPACE-}" ]; then
  # Without a runner it is the work tree around the working directory.
  top="$workspace"
  while [ -n "$top" ]; do
    if [ -e "$top/.git" ]; then
      workspace="$top"
      break
    fi
    top="${top%/*}"
  done
fi

# Whether a path is absolute, and does not lead into the workspace; what does not exist
# is told by its text.
is_outside() { # PATH
  case "$1" in
    /* | [A-Za-z]:[\\/]*) ;;
    *) return 1 ;;
  esac
  real="$(cd -P -- "$1" 2>/dev/null && pwd -P)" || real="$1"
  case "$real/" in
    "${workspace%/}"/*) return 1 ;;
  esac
}

# PATH without what is relative or leads into the workspace, links followed, so that a
# link that changes later leads nowhere else.
only_outside() {
  kept="" rest="$PATH:"
  while [ -n "$rest" ]; do
    entry="${rest%%:*}" rest="${rest#*:}"
    if is_outside "$entry" && [ -d "$entry" ]; then
      kept="$kept:$real"
    fi
  done
  PATH="${kept#:}"
  # An empty PATH is the working directory.
  PATH="${PATH:-/dev/null}"
  export PATH
}
only_outside

for name in HOME CARGO_HOME RUSTUP_HOME TMPDIR RUNNER_TEMP RUNNER_TOOL_CACHE; do
  eval "value=\"\${$name-}\""
  # shellcheck disable=SC2154 # eval sets it
  is_outside "$value" || unset "$name"
done

# Takes from the environment, the job's token with it, all that a tool of these scripts
# does not need. For a subshell.
scrub() {
  for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
    case "$name" in
      PATH | PWD | OLDPWD | SHLVL | _ | SHELLOPTS | BASHOPTS) ;;
      HOME | USER | LOGNAME | TMPDIR | TERM | COLUMNS | LANG | LC_* | TZ) ;;
      CI | GITHUB_ACTIONS | GITHUB_REF | NO_COLOR | FORCE_COLOR) ;;
      CARGO_HOME | RUSTUP_HOME | CARGO_HTTP_* | CARGO_NET_*) ;;
      http_proxy | https_proxy | all_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | ALL_PROXY | NO_PROXY) ;;
      SSL_CERT_FILE | SSL_CERT_DIR | CURL_CA_BUNDLE) ;;
      # What programs of Windows can't do without.
      SYSTEMROOT | SystemRoot | SYSTEMDRIVE | SystemDrive | WINDIR | windir | COMSPEC | ComSpec | PATHEXT) ;;
      TEMP | TMP | USERPROFILE | APPDATA | LOCALAPPDATA | ALLUSERSPROFILE | MSYSTEM) ;;
      PROGRAMDATA | ProgramData | PROGRAMFILES | ProgramFiles | ProgramW6432 | PROCESSOR_ARCHITECTURE) ;;
      *) unset "$name" ;;
    esac
  done
}

# cargo over the source that holds these scripts. From the root of the file system: cargo
# and rustup take configuration and toolchain from the working directory and from what is
# above it, and a source may lie in the workspace.
build() { # SOURCE TARGET-DIRECTORY
  (
    cd / && scrub
    toolchain="$(rustup show active-toolchain 2>/dev/null)" || toolchain=""
    toolchain="${toolchain%% *}"
    RUSTUP_TOOLCHAIN="${toolchain:-stable}"
    export RUSTUP_TOOLCHAIN
    # `cargo install` would ask the registry even where all crates are here.
    cargo build --quiet --locked --bin forebay --profile hook --manifest-path "$1/Cargo.toml" --target-dir "$2" >&2
  )
}
