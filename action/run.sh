#!/usr/bin/env bash
# Runs forebay for action.yml: each command runs once and gives the log,
# annotations, SARIF, the job summary and the outputs.
#
# All inputs are FOREBAY_* variables, and none of them is evaluated. Outside of
# GitHub everything goes to standard output and to a temporary directory.
set -euo pipefail
here="${BASH_SOURCE[0]%/*}"
# shellcheck source=action/outside.sh
. "$here/outside.sh"

binary="${FOREBAY_BINARY:-forebay}"
command="${FOREBAY_COMMAND:-lint}"
outputs="${GITHUB_OUTPUT:-/dev/stdout}"
summary="${GITHUB_STEP_SUMMARY:-/dev/stdout}"
directory="$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/forebay.XXXXXX")"
written="$directory/summary.md"
result=0

case "$command" in
  lint | plan | both) ;;
  *)
    printf 'forebay: the input command is lint, plan or both\n' >&2
    exit 2
    ;;
esac
cd "$directory"
command -v jq >/dev/null || {
  printf 'forebay: jq is needed to count findings\n' >&2
  exit 3
}

# A page of a command where pages are wanted.
page() { # COMMAND
  [ ! -d "$directory/pages" ] || printf 'html=%s/pages/%s.html' "$directory" "$1"
}

common=(--root "${FOREBAY_ROOT:-.}")
[ -z "${FOREBAY_CONFIG:-}" ] || common+=(--config "$FOREBAY_CONFIG")
[ -z "${FOREBAY_STORE:-}" ] || common+=(--charts "$FOREBAY_STORE")

# Of the commands' JSON, by jq, which needs nothing of the environment.
count() { # FILTER FILE
  (scrub && exec jq "$1" "$2")
}

output() {
  printf '%s=%s\n' "$1" "$2" >>"$outputs"
}

# Only forebay itself looks at the workspace: flags are relative to it.
# shellcheck disable=SC2329 # `without_commands` calls it
forebay() {
  (cd "$workspace" && scrub && exec "$binary" "$@")
}

# Nothing that a file says may be taken for a command of the runner: commands
# are stopped by a token that no file can know.
without_commands() {
  local token code=0
  token="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"
  printf '::stop-commands::%s\n' "$token"
  "$@" || code=$?
  printf '::%s::\n' "$token"
  return "$code"
}

# The worst exit code of all commands is the answer.
remember() {
  [ "$1" -le "$result" ] || result="$1"
}

lint() {
  local code=0 page
  page="$(page lint)"
  without_commands forebay lint "${common[@]}" \
    --show "${FOREBAY_SHOW:-warning}" --fail-on "${FOREBAY_FAIL_ON:-error}" --color always --format full \
    --output-file "github=$directory/annotations.txt" --output-file "sarif=$directory/forebay.sarif" \
    --output-file "markdown=$directory/lint.md" --output-file "json=$directory/lint.json" \
    ${page:+--output-file "$page"} || code=$?
  remember "$code"
  [ -f "$directory/lint.json" ] || return 0
  cat "$directory/annotations.txt"
  cat "$directory/lint.md" >>"$written"
  output findings "$(count '.findings | length' "$directory/lint.json")"
  output errors "$(count '.summary.error' "$directory/lint.json")"
  output sarif-file "$directory/forebay.sarif"
}

plan() {
  local code=0 base=() page
  page="$(page plan)"
  [ -z "${FOREBAY_BASE:-}" ] || base=(--base "$FOREBAY_BASE")
  without_commands forebay plan "${common[@]}" ${base[@]+"${base[@]}"} --color always --format text \
    --output-file "markdown=$directory/plan.md" --output-file "json=$directory/plan.json" \
    ${page:+--output-file "$page"} || code=$?
  remember "$code"
  [ -f "$directory/plan.json" ] || return 0
  [ ! -s "$written" ] || printf '\n' >>"$written"
  cat "$directory/plan.md" >>"$written"
  output plan-effects "$(count '.effects | length' "$directory/plan.json")"
}

map() {
  local code=0 base=(--base)
  [ -z "${FOREBAY_BASE:-}" ] || base+=("$FOREBAY_BASE")
  # lint looks at no change, and so the map shows none.
  case "$command" in lint) base=() ;; esac
  without_commands forebay map "${common[@]}" ${base[@]+"${base[@]}"} --output "$directory/fleet.html" || code=$?
  remember "$code"
  [ ! -f "$directory/fleet.html" ] || output map-file "$directory/fleet.html"
}

[ "${FOREBAY_PAGES:-false}" != true ] || mkdir "$directory/pages"
case "$command" in lint | both) lint ;; esac
case "$command" in plan | both) plan ;; esac
[ "${FOREBAY_MAP:-false}" != true ] || map

if compgen -G "$directory/pages/*.html" >/dev/null; then
  output pages-directory "$directory/pages"
fi
if [ -s "$written" ]; then
  cat "$written" >>"$summary"
  output summary-file "$written"
fi
output exit-code "$result"
exit "$result"
