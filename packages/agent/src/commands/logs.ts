import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

import type { Settings } from '../config/config.ts';
import { logFiles } from '../edges/log-file.ts';
import { EXIT } from './exit-codes.ts';
import type { Output } from './output.ts';

/** Prints the last lines of the log, oldest first: formatted on a terminal, unchanged otherwise. */
export async function logs(
  { lines, json }: { lines: number; json: boolean },
  { logFile }: Settings,
  output: Output,
): Promise<number> {
  if (!Number.isInteger(lines) || lines < 1) {
    output.problem('--lines must be a whole number of at least 1.');
    return EXIT.usage;
  }
  const files = logFile === undefined ? [] : logFiles(logFile).filter((file) => existsSync(file));
  if (files.length === 0) {
    output.problem('There is no log file. An installed agent has one; otherwise set FOOTBRIDGE_LOG_FILE.');
    return EXIT.failed;
  }
  const last: string[] = [];
  for (const file of files.toReversed())
    for await (const line of createInterface(createReadStream(file))) {
      last.push(line);
      if (last.length > lines) last.shift();
    }
  for (const line of last) process.stdout.write(`${json ? line : readable(line)}\n`);
  return EXIT.done;
}

/** Formats a line of the log for people: `09:41:07  warn   not connected  because=…`. */
export function readable(line: string): string {
  try {
    const {
      time,
      level,
      msg,
      event: _event,
      service: _service,
      ...fields
    }: Record<string, unknown> = JSON.parse(line);
    const rest = Object.entries(fields).map(([name, value]) => `${name}=${asText(value)}`);
    const at = new Date(String(time)).toLocaleString('sv');
    return [at, String(level).padEnd(5), String(msg), ...rest].join('  ');
  } catch {
    return line;
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
