// The program of the sandboxed child process.
import { serveConversions } from './conversion-server.ts';
import type { Convert } from './conversion-server.ts';
import { ConversionError } from './convert/budget.ts';

/** Loads a decoder when it is first needed. */
const convert: Convert = async (conversion, file, to) => {
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
    case 'png':
      return (await import('./convert/png.ts')).convertPng(file, to);
    default:
      throw new ConversionError(`there is no conversion ${String(conversion satisfies never)}`);
  }
};

await serveConversions(convert);
