// The program of the sandboxed child process of an agent: reads the stickers that a Mac is to send.
import { serveConversions } from './conversion-server.ts';
import { ConversionError } from './convert/budget.ts';
import { convertPng } from './convert/png.ts';

await serveConversions((conversion, file, to) => {
  if (conversion !== 'png') throw new ConversionError(`there is no conversion ${conversion}`);
  return convertPng(file, to);
});
