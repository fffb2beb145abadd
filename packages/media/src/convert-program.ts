// The program of the sandboxed child process: converts the file at a fixed path, one request at a time.
import { readFileSync, statSync } from 'node:fs';

import type { ConversionReply, ConversionRequest } from './conversion.ts';
import { ConversionError, MAX_INPUT_BYTES } from './convert/budget.ts';
import { OutputFile } from './convert/output-file.ts';
import type { Conversion } from './media-types.ts';
import { setPriorityIfAllowed } from './process-priority.ts';

type Converted = Omit<Extract<ConversionReply, { ok: true }>, 'ok'>;

const [, , input = '', output = ''] = process.argv;
const NICENESS = 5;

async function reply({ conversion }: ConversionRequest): Promise<ConversionReply> {
  try {
    if (statSync(input).size > MAX_INPUT_BYTES) throw new ConversionError('the file is too large to convert');
    const file = new OutputFile(output);
    try {
      return { ok: true, ...(await convert(conversion, readFileSync(input), file)) };
    } finally {
      file.close();
    }
  } catch (error) {
    // Decoders read hostile bytes: any other error means that the file is damaged.
    return { ok: false, reason: error instanceof ConversionError ? error.message : 'the file is damaged' };
  }
}

/** Loads a decoder when it is first needed. */
async function convert(conversion: Conversion, file: Buffer, to: OutputFile): Promise<Converted> {
  switch (conversion) {
    case 'heic':
      return (await import('./convert/heic.ts')).convertHeic(file, to);
    case 'apng':
      return (await import('./convert/apng.ts')).convertApng(file, to);
    case 'apple-png':
      return (await import('./convert/apple-png.ts')).convertApplePng(file, to);
    case 'tiff':
      return (await import('./convert/tiff.ts')).convertTiff(file, to);
    case 'caf':
      return (await import('./convert/caf.ts')).convertCaf(file, to);
    case 'amr':
      return (await import('./convert/amr.ts')).convertAmr(file, to);
    default:
      throw new ConversionError(`there is no conversion ${String(conversion satisfies never)}`);
  }
}

setPriorityIfAllowed(NICENESS);
// A signal to the whole process group stops the service, which then stops this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (request: ConversionRequest) => {
  void reply(request).then((answer) => {
    globalThis.gc?.();
    process.send?.(answer);
  });
});
