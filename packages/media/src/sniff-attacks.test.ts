import { collectGarbage } from '@footbridge/testkit/collect-garbage';
import { costGrowth } from '@footbridge/testkit/cost-growth';
import { expect, it } from 'vitest';
import { HeadRecorder } from './head-recorder.ts';
import { sniff, SNIFF_BYTES } from './sniff.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const PNG = '\x89PNG\r\n\x1a\n';
/** An entry whose name begins with a prefix that is searched for and goes on to the next header. */
const entry = (name: string) =>
  `PK\x03\x04${'\0'.repeat(22)}${String.fromCharCode(name.length)}\0\0\0${name}`;

const ATTACKS: Record<string, [start: string, unit: string, end?: string]> = {
  'overlapping zip headers with long names': ['', 'PK\x03\x04\xff\xff\xff'],
  'zip headers inside of the name': [`PK\x03\x04${'\xff'.repeat(26)}`, `PK\x03\x04${'\xff'.repeat(26)}`],
  'zip headers without names': ['', `PK\x03\x04${'\0'.repeat(26)}`],
  'zip entries of an Office file': [entry('[Content_Types].xml'), entry('_rels/')],
  'PNG chunks without content': [PNG, '\0\0\0\0tEXt\0\0\0\0'],
  'PNG chunks beyond the end': [PNG, '\xff\xff\xff\xfftEXt'],
  'brands of an ISO file': ['\0\xff\xff\xffftypxxxx\0\0\0\0', 'yyyy'],
  'nested ISO boxes': ['', '\0\xff\xff\xffftypmoov'],
  'Ogg pages': ['', 'OggS\x80theor'],
  'Matroska sizes': ['\x1aE\xdf\xa3', 'web'],
  'lines of a PDF': ['a', '\n%PDF'],
  'tags without an end': ['', '<'],
  'tags with a long prefix': ['', '<a'],
  'a tag of one long word': ['<', 'a'],
  'tags with colons': ['x', '<a:'],
  'almost tags': ['x', '<sv <scrip <imag'],
  'spaces before the text': ['', ' ', '<'],
  'characters of three bytes': ['', '\xe2\x82\xac'],
  'a byte order mark': ['\xef\xbb\xbf', '\xef\xbb\xbf'],
};

it.each(Object.entries(ATTACKS))(
  'T58 recognises a file in linear time and memory: %s',
  (_what, [start, unit, end = '']) => {
    const cost = costGrowth(
      sniff,
      (size) => {
        const units = unit.repeat((size - start.length - end.length) / unit.length);
        return latin1(start + units + end);
      },
      SNIFF_BYTES,
    );
    // Quadratic time would be 64.
    expect(cost.time).toBeLessThan(24);
    expect(cost.bytes).toBeLessThan(128 * SNIFF_BYTES);
  },
);

it('T58 keeps the first bytes of a file that arrives byte by byte in hardly more memory than they have', async () => {
  const recorder = new HeadRecorder();
  const used = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  let size = 0;
  for await (const part of recorder.record(byteByByte(SNIFF_BYTES))) size += part.length;
  expect(used() - before).toBeLessThan(16 * SNIFF_BYTES);
  expect(recorder.head).toHaveLength(size);
});

async function* byteByByte(size: number) {
  for (let at = 0; at < size; at++) yield Buffer.from('a');
}
