/** npm forwards the SIGINT that Control-C has already sent to the whole process group: two within this time are one Control-C. */
const REPEATED_SIGINT_MS = 500;

/** Calls `stop` with the first of the signals, and `force` at each SIGINT that arrives more than half a second later. */
export function onStopSignal(
  signals: readonly NodeJS.Signals[],
  stop: (signal: NodeJS.Signals) => void,
  force: () => void,
): void {
  let stoppingSince: number | undefined;
  const receive = (signal: NodeJS.Signals) => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now();
      stop(signal);
    } else if (signal === 'SIGINT' && performance.now() - stoppingSince > REPEATED_SIGINT_MS) force();
  };
  for (const signal of signals) process.on(signal, receive);
}
