import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { createCleanup } from '@footbridge/testkit/cleanup';
import { until } from '@footbridge/testkit/until';
import { afterEach, describe, expect, it } from 'vitest';

import { ANNA, person, PNG, runAgent, withFooter } from './running-agent.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

const CANARY = 'canary7f3a';

describe('private data', () => {
  it('stays out of the log: text, phone, token, key and file name', async () => {
    const { service, play, logs, agent } = await runAgent(cleanup);
    const said = await play(person(ANNA, 'say'), {
      text: `${CANARY} said`,
      attachments: [{ name: `${CANARY}.png`, mime: 'image/png', base64: PNG.toString('base64') }],
    });
    const { chat } = await service.messageOf(said.guid);
    const frames = [
      { message: `${CANARY} text` },
      { message: `${CANARY}\n-- svc-metadata:v1 --\n{"${CANARY}":` },
      {
        message: withFooter(CANARY, {
          chat_id: chat.id,
          sticker: { bytes: Buffer.from(CANARY).toString('base64') },
        }),
      },
      { message: withFooter(CANARY, { is_group: true, recipients: [CANARY] }) },
      { message: null, attachments: [`https://${CANARY}.invalid/${CANARY}?token=${CANARY}`] },
      { message: null, attachments: [`http://127.0.0.1:1/${CANARY}`] },
      { contactId: CANARY, phone: '+15550107777', message: `${CANARY} other` },
    ];
    const sent = frames.map((frame) => service.send(frame));
    service.write(`{"type":"send","message":"${CANARY}"}`);
    service.write(CANARY);
    for (const { requestId } of sent) await service.statusOf(requestId);
    service.close(4000, 'reason');
    await service.registered(2);
    await agent.stop();
    const log = logs.join('\n');
    expect(logs.length).toBeGreaterThan(15);
    for (const secret of [CANARY, '+15550100001', '15550107777', 'LICENSE-KEY', 'token-1']) {
      expect(log).not.toContain(secret);
    }
    for (const status of service.statuses) expect(status.error?.message ?? '').not.toContain(CANARY);
  });

  it('is deleted from the journal when the job ends', async () => {
    const { service, config, agent } = await runAgent(cleanup);
    await service.statusOf(service.send({ message: `${CANARY} text` }).requestId);
    await until(() => service.unacked.size === 0);
    await agent.stop();
    const journal = readFileSync(join(config.dataDir, 'journal.db'));
    expect(journal.includes(CANARY)).toBe(false);
    expect(journal.includes('message-1')).toBe(true);
  });

  it('is deleted from the write-ahead log while the agent runs', async () => {
    const { service, config } = await runAgent(cleanup, { env: { FOOTBRIDGE_HEALTH_SEC: '0.1' } });
    await service.statusOf(service.send({ message: `${CANARY} text` }).requestId);
    const files = () => readdirSync(config.dataDir).filter((name) => name.startsWith('journal.db'));
    const holdsText = () => files().some((name) => readFileSync(join(config.dataDir, name)).includes(CANARY));
    await until(() => !holdsText(), { what: 'the text to be gone' });
    expect(files()).toContain('journal.db-wal');
  });
});
