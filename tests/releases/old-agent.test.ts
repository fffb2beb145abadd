import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type * as Frames from '@footbridge/protocol/frames';
import { createCleanup } from '@footbridge/testkit/cleanup';
import { afterEach, expect, it } from 'vitest';

import { GOOD, LOCATION, PHONE, bridges } from '../contract/test-bridge.ts';
import { unpackLastRelease } from '../nodes/last-release.ts';

const startBridge = bridges();
const cleanup = createCleanup();
afterEach(() => cleanup.run());

type Recorded =
  | { readonly from: 'mac'; readonly frame: Frames.MacFrame }
  | { readonly from: 'service'; readonly frame: Frames.ServiceFrame };

/**
 * Both directions of a connection, recorded with an agent that predates `received`, `state` and `reach` (commit df2c6232): a text that is
 * delivered, an inbound text, a reaction to it, and a file that cannot be downloaded. Generated ids are replaced with names or left out.
 */
const RECORDED = JSON.parse(
  readFileSync(join(import.meta.dirname, 'agent-frames.json'), 'utf8')
    .replaceAll('location1', LOCATION)
    .replaceAll('+15555550101', PHONE),
) as readonly Recorded[];

it('M10 an agent that neither confirms messages nor reports its state sends, reports a failure and receives', async () => {
  const bridge = await startBridge();
  const { crm } = bridge;
  const mac = await bridge.connect();
  const requests = new Map<string, string>();
  for (const { from, frame } of RECORDED) {
    if (from === 'mac')
      mac.send('requestId' in frame ? { ...frame, requestId: requests.get(frame.requestId) } : frame);
    else if (frame.type === 'send') {
      const { messageId, message, attachments } = frame;
      await bridge.post({ ...GOOD, phone: PHONE, messageId, message, attachments });
      const sent = await mac.nextFrame('send');
      requests.set(frame.requestId, sent.requestId);
      expect(sent).toMatchObject({ ...frame, requestId: sent.requestId });
    } else if (frame.type === 'ack') expect(await mac.ack(frame.seq)).toEqual(frame);
    else expect(await mac.nextFrame(frame.type)).toMatchObject(frame);
  }
  expect(crm.accepted('message-1')).toEqual(['pending', 'delivered']);
  expect(crm.accepted('message-2')).toEqual(['pending', 'failed']);
  expect(crm.messages).toMatchObject([
    { message: expect.stringMatching(/^Hi there/) },
    { message: expect.stringMatching(/^Loved “Hi there”/) },
  ]);

  expect(await kindsInLastRelease(mac.frames)).toEqual(
    RECORDED.filter(({ from }) => from === 'service').map(() => 'frame'),
  );
  expect(mac.unknownFrames).toEqual([]);
});

/** Parses frames with the last release, in a separate process because Vite would look for its source maps. */
async function kindsInLastRelease(frames: readonly Frames.ServiceFrame[]): Promise<unknown> {
  const parser = join(await unpackLastRelease(cleanup), '../../../protocol/src/frames.js');
  const code = `import { parseServiceFrame } from ${JSON.stringify(parser)};
    const frames = JSON.parse(process.argv[1]);
    console.log(JSON.stringify(frames.map((frame) => parseServiceFrame(JSON.stringify(frame)).kind)));`;
  const args = ['--input-type=module', '--eval', code, JSON.stringify(frames)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}
