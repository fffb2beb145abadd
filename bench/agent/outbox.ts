import { parseArgs } from 'node:util';

import { journalPath } from '@footbridge/agent/edges/data-dir';
import { openJournal } from '@footbridge/agent/journal/journal-sqlite';
import { startSimulatedMacos } from '@footbridge/testkit/macos';
import { until } from '@footbridge/testkit/until';

import { MacAgent } from '../../tests/agent/mac-agent.ts';
import { ScriptedService } from '../../tests/agent/scripted-service.ts';

/** Measures how long an agent that was offline takes to send its outbox, from the connection to the last acknowledgement. */
const { values } = parseArgs({ options: { frames: { type: 'string', default: '10000' } } });
const FRAMES = Number(values.frames);
const MAX_SECONDS = 5;

const service = await new ScriptedService().start();
const macos = await startSimulatedMacos();
const agent = new MacAgent({ url: service.url, macos, env: {} });
const journal = openJournal(journalPath(agent.dataDir));
try {
  journal.transaction(() => {
    for (let index = 0; index < FRAMES; index += 1) journal.outbox.put(message(index), Date.now());
  });
  await agent.start();
  await until(() => journal.outbox.counts().unacknowledged === 0, { every: 20, what: 'an empty outbox' });
  const connectedAt = service.history.find(({ what }) => what === 'connected')?.at ?? Number.NaN;
  const seconds = (Date.now() - connectedAt) / 1000;
  const guids = new Set(service.received.map(({ guid }) => guid));
  process.stdout.write(
    `${guids.size} frames in ${seconds.toFixed(2)} s, ${service.received.length - guids.size} sent twice\n`,
  );
  process.exitCode = guids.size === FRAMES && seconds <= MAX_SECONDS ? 0 : 1;
} finally {
  journal.close();
  await agent.stop();
  await macos.stop();
  await service.stop();
}

function message(index: number) {
  const sender = `+1555${String(index % 500).padStart(7, '0')}`;
  return {
    type: 'message_received',
    guid: `GUID-${index}`,
    sender,
    service: 'iMessage',
    text: 'a text of ordinary length, as a customer would send it, number '.concat(String(index)),
    sentAt: new Date().toISOString(),
    chat: { id: index % 500, isGroup: false, recipients: [sender] },
    attachments: [],
  } as const;
}
