import { readFileSync, statSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';

import { MAX_INPUT_BYTES, Refusal } from './convert/budget.ts';
import { OutputFile } from './convert/output-file.ts';
import type { ConversionResult } from './convert.ts';
import type { Conversion, MediaTypeName } from './media-types.ts';

/** What the thread is started with. It converts one file and ends. */
export interface ConversionOrder {
  conversion: Conversion;
  input: string;
  output: string;
}

interface Converted {
  type: MediaTypeName;
  note?: string | undefined;
}

async function run({ conversion, input, output }: ConversionOrder): Promise<ConversionResult> {
  // On Linux this is the thread's own niceness; elsewhere it would be that of the whole process.
  if (process.platform === 'linux') setPriority(5);
  try {
    if (statSync(input).size > MAX_INPUT_BYTES) throw new Refusal('the file is too large to convert');
    const file = new OutputFile(output);
    try {
      const { type, note } = await convert(conversion, readFileSync(input), file);
      return { ok: true, type, size: file.size, ...(note === undefined ? {} : { note }) };
    } finally {
      file.close();
    }
  } catch (error) {
    // Decoders meet hostile bytes here: whatever they throw, the file is simply one that could not be converted.
    return { ok: false, reason: error instanceof Refusal ? error.message : 'the file is damaged' };
  }
}

/** Each thread loads the one decoder it needs. */
async function convert(conversion: Conversion, file: Buffer, output: OutputFile): Promise<Converted> {
  switch (conversion) {
    case 'heic': {
      const { convertHeic } = await import('./convert/heic.ts');
      return convertHeic(file, output);
    }
    case 'apng': {
      const { convertApng } = await import('./convert/apng.ts');
      await convertApng(file, output);
      return { type: 'image/gif' };
    }
    case 'apple-png': {
      const { convertApplePng } = await import('./convert/apple-png.ts');
      convertApplePng(file, output);
      return { type: 'image/png' };
    }
    case 'tiff': {
      const { convertTiff } = await import('./convert/tiff.ts');
      return { type: 'image/png', note: convertTiff(file, output) };
    }
    case 'caf': {
      const { convertCaf } = await import('./convert/caf.ts');
      return { type: await convertCaf(file, output) };
    }
    case 'amr': {
      const { convertAmr } = await import('./convert/amr.ts');
      await convertAmr(file, output);
      return { type: 'audio/wav' };
    }
    default:
      throw new Refusal(`nothing converts ${String(conversion satisfies never)}`);
  }
}

const order: ConversionOrder = workerData;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port, not a window
parentPort?.postMessage(await run(order));
