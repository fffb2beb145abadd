/**
 * Makes SIGUSR1 do nothing. By default Node opens its debugger on 127.0.0.1 when it gets that signal, and every user of the machine can run
 * code in the process through it. A listener also covers programs that were started without `--disable-sigusr1`.
 */
export function ignoreDebuggerSignal() {
  process.on('SIGUSR1', () => {});
}
