import { existsSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, describe, expect, it } from 'vitest';

import { createCleanup } from './cleanup.ts';
import { MACOS_VERSIONS } from '@footbridge/simulator/chat-db';
import { encodeBody } from '@footbridge/simulator/typed-stream';
import { startSimulatedMacos } from './macos.ts';
import type { SimulatedMacos, SimulatedMacosOptions } from './macos.ts';

const cleanup = createCleanup();
afterEach(() => cleanup.run());

async function start(options: SimulatedMacosOptions = {}): Promise<SimulatedMacos> {
  const macos = await startSimulatedMacos(options);
  cleanup.add(() => macos.stop());
  return macos;
}

/** A read-only connection, as the agent opens it. */
function reader(macos: SimulatedMacos): DatabaseSync {
  const db = new DatabaseSync(macos.storePath, { readOnly: true });
  cleanup.add(() => db.close());
  return db;
}

describe('a body', () => {
  it('has the bytes that Messages writes', () => {
    const runs = [{ text: 'Haha yeah 😃', attributes: { __kIMMessagePartAttributeName: 0 } }];
    // An attributedBody recorded on a Mac (beeper/platform-imessage, MIT).
    const recorded =
      '040b73747265616d747970656481e803840140848484124e5341747472696275746564537472696e67008484084e534f626a65637400859284' +
      '8484084e53537472696e67019484012b0e48616861207965616820f09f98838684026949010c928484840c4e5344696374696f6e6172790094' +
      '84016901928496961d5f5f6b494d4d657373616765506172744174747269627574654e616d658692848484084e534e756d6265720084840' +
      '74e5356616c7565009484012a84999900868686';
    expect(Buffer.from(encodeBody(runs)).toString('hex')).toBe(recorded);
  });
});

describe.each(MACOS_VERSIONS)('on macOS %i, a message', (version) => {
  it('is inserted first; its join, body and file come later', async () => {
    const macos = await start({ macos: version });
    const db = reader(macos);
    const read = db.prepare(
      `SELECT text, attributedBody IS NOT NULL AS body,
        (SELECT count(*) FROM chat_message_join WHERE message_id = m.ROWID) AS joins,
        (SELECT transfer_state FROM attachment a JOIN message_attachment_join j ON j.attachment_id = a.ROWID
          WHERE j.message_id = m.ROWID) AS transfer
       FROM message m WHERE guid = ?`,
    );
    await macos.messages.hold();
    const { guid } = await macos.messages.write({
      from: '+15550001111',
      text: 'hello',
      attachments: [{ name: 'a.txt', mime: 'text/plain', base64: 'aGk=' }],
    });
    expect(read.get(guid)).toEqual({ text: null, body: 0, joins: 0, transfer: null });
    await macos.messages.release();
    await macos.messages.settled();
    expect(read.get(guid)).toEqual({ text: null, body: 1, joins: 1, transfer: 5 });
    const path = String(db.prepare('SELECT filename FROM attachment').get()?.['filename']);
    expect(readFileSync(path.replace('~', macos.home), 'utf8')).toBe('hi');
  });

  it('of the owner gets its receipts later', async () => {
    const macos = await start({ macos: version });
    const chat = { members: ['+15550001111'], service: 'iMessage' };
    await macos.messages.hold();
    const { guid } = await macos.messages.write({ from: 'me', chat, text: 'hi' });
    const read = reader(macos).prepare('SELECT is_sent, is_delivered, error FROM message WHERE guid = ?');
    expect(read.get(guid)).toEqual({ is_sent: 0, is_delivered: 0, error: 0 });
    await macos.messages.release();
    await macos.messages.settled();
    expect(read.get(guid)).toEqual({ is_sent: 1, is_delivered: 1, error: 0 });
  });
});

describe('the store', () => {
  it('removes and re-creates its WAL on rotation, and keeps its rows', async () => {
    const macos = await start();
    await macos.messages.write({ from: '+15550001111', text: 'one' });
    await macos.messages.settled();
    expect(existsSync(`${macos.storePath}-wal`)).toBe(true);
    await macos.messages.rotate();
    await macos.messages.write({ from: '+15550001111', text: 'two' });
    expect(reader(macos).prepare('SELECT count(*) AS n FROM message').get()).toEqual({ n: 2 });
  });

  it('starts again at row 1 when it is rebuilt', async () => {
    const macos = await start();
    await macos.messages.write({ from: '+15550001111', text: 'one' });
    await macos.messages.settled();
    await macos.messages.rebuild();
    const { rowid, chatRowid } = await macos.messages.write({ from: '+15550002222', text: 'two' });
    expect({ rowid, chatRowid }).toEqual({ rowid: 1, chatRowid: 1 });
  });

  it('loses later rows when an earlier copy is restored', async () => {
    const macos = await start();
    await macos.messages.write({ from: '+15550001111', text: 'one' });
    await macos.messages.settled();
    await macos.messages.backUp();
    await macos.messages.write({ from: '+15550001111', text: 'two' });
    await macos.messages.settled();
    await macos.messages.restore();
    expect(reader(macos).prepare('SELECT count(*) AS n FROM message').get()).toEqual({ n: 1 });
  });

  it('has a second row for a link, with an attachment that is hidden', async () => {
    const macos = await start();
    await macos.messages.write({
      from: '+15550001111',
      text: 'see https://example.com/x',
      linkPreview: true,
    });
    await macos.messages.settled();
    const db = reader(macos);
    expect(db.prepare('SELECT balloon_bundle_id FROM message ORDER BY ROWID').all()).toEqual([
      { balloon_bundle_id: null },
      { balloon_bundle_id: 'com.apple.messages.URLBalloonProvider' },
    ]);
    expect(db.prepare('SELECT hide_attachment FROM attachment').all()).toEqual([{ hide_attachment: 1 }]);
  });

  it('survives kill -9 of its writer', async () => {
    const macos = await start();
    await macos.messages.write({ from: '+15550001111', text: 'one' });
    await macos.kill9();
    await macos.start();
    expect(reader(macos).prepare('SELECT count(*) AS n FROM message').get()).toEqual({ n: 1 });
  });
});
