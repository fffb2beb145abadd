/**
 * For a deadline on data from a socket: runs the task once the sockets have been read. After a stall of this process, timers run first,
 * although the data may have arrived.
 */
export function afterReading(task: () => void): void {
  setImmediate(task);
}
