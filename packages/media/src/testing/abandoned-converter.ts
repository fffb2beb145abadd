// Converts a file, prints the process id of the converter's process, and dies without closing the converter.
import { Readable } from 'node:stream';

import { Converter } from '../converter.ts';

const [, , folder = ''] = process.argv;
const converter = await Converter.open(
  folder,
  { warn: () => undefined },
  { program: new URL('misbehaving-program.ts', import.meta.url) },
);
const result = await converter.convert('heic', async () => Readable.from([Buffer.from('succeed')]), 'tenant');
process.stdout.write(result.ok ? (result.note ?? '') : result.reason, () =>
  process.kill(process.pid, 'SIGKILL'),
);
