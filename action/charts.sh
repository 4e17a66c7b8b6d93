#!/usr/bin/env bash
# Fetches the charts of the releases for action.yml, where its input asks for it:
# `charts.sh key` says where they lie between runs and what they are, `charts.sh pull`
# fetches those that are missing there, with the helm of the runner.
#
# All inputs are FOREBAY_* variables, and none of them is evaluated.
set -euo pipefail
here="${BASH_SOURCE[0]%/*}"
# shellcheck source=action/outside.sh
. "$here/outside.sh"

binary="${FOREBAY_BINARY:-forebay}"
outputs="${GITHUB_OUTPUT:-/dev/stdout}"
# Outside of the workspace, so that a pull request can't bring charts of its own under
# the names of others.
store="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/forebay-charts"

case "${FOREBAY_CHARTS:-off}" in
  pull) ;;
  off) exit 0 ;;
  *)
    printf 'forebay: the input charts is off or pull\n' >&2
    exit 2
    ;;
esac

common=(--root "${FOREBAY_ROOT:-.}")
[ -z "${FOREBAY_CONFIG:-}" ] || common+=(--config "$FOREBAY_CONFIG")

# What helm was told of logins, mirrors and caches, where that lies outside of the
# workspace.
helm_settings() {
  for name in HELM_CONFIG_HOME HELM_CACHE_HOME HELM_DATA_HOME HELM_REPOSITORY_CONFIG HELM_REPOSITORY_CACHE \
    HELM_REGISTRY_CONFIG DOCKER_CONFIG XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME; do
    value="${!name-}"
    if [ -n "$value" ] && is_outside "$value"; then
      printf '%s=%s\0' "$name" "$value"
    fi
  done
}

forebay() {
  local settings=() setting
  while IFS= read -r -d '' setting; do
    settings+=("$setting")
  done < <(helm_settings)
  (cd "$workspace" && scrub && exec env ${settings[@]+"${settings[@]}"} "$binary" "$@")
}

case "$1" in
  key)
    command -v jq >/dev/null || {
      printf 'forebay: jq is needed to name the charts\n' >&2
      exit 3
    }
    mkdir -p "$store"
    listed="$(forebay chart list "${common[@]}" --no-user-stores --format json)"
    names="$(printf '%s' "$listed" | (scrub && exec jq -cS '[.charts[] | [.name, .version, .source]]'))"
    sum="$(printf '%s' "$names" | sha256sum)"
    {
      printf 'key=forebay-charts-%s\n' "${sum%% *}"
      printf 'store=%s\n' "$store"
    } >>"$outputs"
    ;;
  pull)
    helm="$(command -v helm)" || {
      printf 'forebay: charts: pull needs helm 3.8 or later on PATH\n' >&2
      exit 2
    }
    base=()
    case "${FOREBAY_COMMAND:-lint}" in
      plan | both) base=(--base) && [ -z "${FOREBAY_BASE:-}" ] || base+=("${FOREBAY_BASE:-}") ;;
    esac
    # No line of helm may be taken for a command of the runner.
    token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
    code=0
    printf '::stop-commands::%s\n' "$token"
    forebay chart pull "${common[@]}" --no-user-stores --charts "$store" --into "$store" --helm "$helm" \
      ${base[@]+"${base[@]}"} || code=$?
    printf '::%s::\n' "$token"
    # What could not be fetched stays unknown, and lint counts it: a registry that is down
    # fails no pull request. A mistake of usage does.
    [ "$code" -ne 1 ] || printf '::warning::forebay: some charts could not be fetched, and are not checked\n'
    [ "$code" -le 1 ] || exit "$code"
    ;;
esac
