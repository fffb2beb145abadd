# The terminal of a reader. Commands that run until Ctrl-C run in the background, as in another terminal, and are stopped when the
# shell exits. npm and npx start the programs of this checkout. Values that one command prints and another needs are saved:
# a license key, a message id, a pairing code.
set -euo pipefail

run() {
  "$NODE" --disable-warning=ExperimentalWarning "$PACKAGES/$1/src/main.ts" "${@:2}"
}

# in_background NAME READY PACKAGE ARGUMENT...: returns when the output of the program contains READY; at once if READY is empty.
in_background() {
  local name=$1 ready=$2
  stop "$name"
  # The background process may truncate the log of the last run too late: it already contains READY.
  : >"$SESSION/$name.log"
  "$NODE" --disable-warning=ExperimentalWarning "$PACKAGES/$3/src/main.ts" "${@:4}" >"$SESSION/$name.log" 2>&1 &
  echo $! >"$SESSION/$name.pid"
  [ -n "$ready" ] || return 0
  until grep -q -- "$ready" "$SESSION/$name.log"; do
    kill -0 $! 2>/dev/null || { cat "$SESSION/$name.log" >&2; return 1; }
    sleep 0.1
  done
}

# Like Ctrl-C in another terminal.
stop() {
  [ -e "$SESSION/$1.pid" ] || return 0
  local pid
  pid=$(cat "$SESSION/$1.pid")
  rm "$SESSION/$1.pid"
  kill "$pid" 2>/dev/null || true
  wait "$pid" || true
}

stop_all() {
  local file
  for file in "$SESSION"/*.pid; do
    stop "$(basename "$file" .pid)"
  done
}
trap stop_all EXIT

remember() {
  node -e '
    const { readFileSync, writeFileSync } = require("node:fs");
    const [folder, command] = process.argv.slice(1);
    const output = readFileSync(0, "utf8");
    process.stdout.write(output);
    for (const line of output.split("\n").filter((one) => one.startsWith("{"))) {
      const { key, code, requestId } = JSON.parse(line);
      if (command === "license" && key) writeFileSync(`${folder}/license`, key);
      if (command === "device" && code) writeFileSync(`${folder}/pairing`, code);
      if (command === "send" && requestId) writeFileSync(`${folder}/message`, requestId);
    }' "$SESSION" "$1"
}

npm() {
  case "$*" in
    ci) ;;
    start) in_background service service.ready service ;;
    'run demo') in_background demo '"ready":' demo --port 0 --json ;;
    run\ *) (cd "$ROOT" && command npm "$@") ;;
    *) command npm "$@" ;;
  esac
}

npx() {
  local program=$1 arguments=() argument
  for argument in "${@:2}"; do
    case $argument in
      FB-…) argument=$(cat "$SESSION/license") ;;
      MESSAGE_ID) argument=$(cat "$SESSION/message") ;;
      K7QF-3M9X@bridge.example.com) argument=$(cat "$SESSION/pairing") ;;
    esac
    arguments+=("$argument")
  done
  case "$program ${arguments[*]:-}" in
    footbridge-agent\ run*) in_background mac registered agent "${arguments[@]}" ;;
    footbridge-agent\ *) run agent "${arguments[@]}" ;;
    footbridge\ tail*--no-follow*) run cli "${arguments[@]}" ;;
    footbridge\ tail*) in_background tail '' cli "${arguments[@]}" ;;
    footbridge\ *) run cli --yes ${arguments[@]+"${arguments[@]}"} | remember "${arguments[0]:-}" ;;
    *) echo "unknown program: $program" >&2; return 1 ;;
  esac
}

node() {
  "$NODE" "$@"
}

curl() {
  command curl -sS --fail-with-body "$@"
}
