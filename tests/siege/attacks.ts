import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';

import type { Cleanup } from '@footbridge/testkit/cleanup';
import { connectMac } from '@footbridge/testkit/mac';
import { signedRequest } from '@footbridge/testkit/keys';

import { ATTACKER } from './stage.ts';
import type { Stage } from './stage.ts';

/** What an attack adds to the measurement of honest traffic. */
export interface Started {
  /** The service that it attacks, if it needs one of its own. */
  readonly on?: Stage;
  /** The memory of that service before the attack. */
  readonly idle?: number;
  /** Resolves with what did not hold. */
  readonly verify?: () => Promise<string | undefined>;
  /** Shown beside the result. Called after `verify`. */
  readonly figures?: () => string;
}

/** Starts an attack that continues until the cleanup runs. */
export type Attack = (stage: Stage, cleanup: Cleanup) => Promise<Started | void>;

/** Runs `act` at a bounded rate. Its failures are part of the attack. */
export function repeat(cleanup: Cleanup, perSec: number, act: () => unknown): void {
  const timer = setInterval(() => void Promise.resolve(act()).catch(() => undefined), 1000 / perSec);
  cleanup.add(() => clearInterval(timer));
}

/** Writes bytes to a new connection and reads nothing. */
export function hold(stage: Stage, cleanup: Cleanup, bytes: string | Buffer): void {
  const { hostname, port } = new URL(stage.service.url);
  const socket = connect(Number(port), hostname);
  cleanup.add(() => socket.destroy());
  socket
    .on('error', () => undefined)
    .pause()
    .write(bytes);
}

export async function upload(stage: Stage, token: string, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${stage.service.url}/mac/assets`, { method: 'POST', headers, body });
  const { url = '' } = (await answer.json()) as { url?: string };
  return url;
}

function holdUpload(stage: Stage, cleanup: Cleanup, token: string): void {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Length': 1_000_000 };
  const call = request(`${stage.service.url}/mac/assets`, { method: 'POST', headers, agent: false });
  cleanup.add(() => call.destroy());
  call.on('error', () => undefined).on('response', (answer) => answer.resume());
  call.write('x'.repeat(1000));
}

/** 80 s of silence: small to send, long to decode. */
const SILENCE = new Uint8Array(Buffer.concat([Buffer.from('#!AMR\n'), Buffer.alloc(4000, 0x7c)]));

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'nothing (reference)': async () => {},

  '#1 downloads that are not read': async (stage, cleanup) => {
    const { token } = await stage.device('mac-downloads', 'locDownloads');
    const { pathname } = new URL(await upload(stage, token, new Uint8Array(5_000_000)));
    const get = `GET ${pathname} HTTP/1.1\r\nHost: a\r\n\r\n`;
    for (let socket = 0; socket < 40; socket++) hold(stage, cleanup, get.repeat(31));
  },

  '#2 slow uploads of 20 Macs': async (stage, cleanup) => {
    for (let number = 0; number < 20; number++) {
      const { token } = await stage.device(`mac-uploads-${number}`, `${ATTACKER}${number}`);
      for (let file = 0; file < 50; file++) holdUpload(stage, cleanup, token);
    }
  },

  '#8 #2 recordings to convert': async (stage, cleanup) => {
    const { token } = await stage.device('mac-converter', 'locConverter');
    repeat(cleanup, 20, () => upload(stage, token, SILENCE));
  },

  '#3 messages with 20 attachments each': async (stage, cleanup) => {
    const { token, mac } = await stage.device('mac-attachments', ATTACKER);
    const url = await upload(stage, token, new Uint8Array(4_900_000));
    stage.crm.injectFault({ match: 'upload', times: 10_000, how: 'hang' });
    cleanup.add(() => stage.crm.clearFaults());
    for (let sender = 10; sender < 40; sender++)
      mac.received({ sender: `+141555501${sender}`, text: 'look', attachments: Array(20).fill(url) });
  },

  '#4 one device at many locations': async (stage, cleanup) => {
    const { token } = await stage.device('mac-locations', 'locTaken');
    let number = 0;
    repeat(cleanup, 50, async () => {
      const mac = await connectMac(stage.service.url, { token });
      cleanup.add(() => mac.terminate());
      await mac.register(`locTaken${number++}`);
    });
  },

  '#4 frames of 90 kB while the CRM hangs': async (stage, cleanup) => {
    stage.crm.injectFault({ match: '*', locationId: ATTACKER, times: 10_000, how: 'hang' });
    cleanup.add(() => stage.crm.clearFaults());
    const { mac } = await stage.device('mac-frames', ATTACKER);
    const text = 'x'.repeat(90_000);
    for (let sender = 100; sender < 160; sender++) mac.received({ sender: `+14155550${sender}`, text });
  },

  '#4 four connections of a device, full of frames of two bytes a character': async (stage, cleanup) => {
    const token = await stage.token('mac-full');
    const text = `\u6587${'x'.repeat(99_000)}`;
    for (const locationId of ['locFull1', 'locFull2', 'locFull3', 'locFull4']) {
      await fetch(`${stage.service.url}/oauth/callback/crm?code=${stage.crm.install({ locationId })}`);
      stage.crm.injectFault({ match: '*', locationId, times: 10_000, how: 'hang' });
      const mac = await connectMac(stage.service.url, { token });
      cleanup.add(() => mac.terminate());
      await mac.register(locationId);
      for (let sender = 100; sender < 160; sender++) mac.received({ sender: `+14155550${sender}`, text });
    }
    cleanup.add(() => stage.crm.clearFaults());
  },

  '#5 rejections that resemble the text': async (stage, cleanup) => {
    const { mac } = await stage.device('mac-rejections', ATTACKER);
    const body = { message: 'aaaaaaac'.repeat(40) };
    stage.crm.injectFault({
      match: 'inbound',
      locationId: ATTACKER,
      times: 10_000,
      how: { status: 400, body },
    });
    cleanup.add(() => stage.crm.clearFaults());
    let sender = 1000;
    const text = 'aaaaaaab'.repeat(10_000);
    repeat(cleanup, 10, () => mac.isOpen && mac.received({ sender: `+1415555${sender++}`, text }));
  },

  '#7 tenants whose CRM does not respond': async (stage, cleanup) => {
    stage.crm.injectFault({ match: 'contact', locationId: ATTACKER, times: 10_000, how: 'hang' });
    cleanup.add(() => stage.crm.clearFaults());
    const body = { locationId: ATTACKER, contactId: 'c', message: 'Hello' };
    repeat(cleanup, 50, () => fetch(`${stage.service.url}/crm/webhook`, signedRequest(body, stage.crm.key)));
  },

  'webhooks whose bodies never end': async (stage, cleanup) => {
    const slow = 'POST /crm/webhook HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n';
    repeat(cleanup, 100, () => hold(stage, cleanup, slow + ' '.repeat(100_000)));
  },

  'a flood of unsigned webhooks': async (stage, cleanup) => {
    const body = JSON.stringify({ locationId: ATTACKER, message: 'x'.repeat(10_000) });
    const headers = {
      'Content-Type': 'application/json',
      'X-CRM-Signature': Buffer.alloc(64).toString('base64'),
    };
    const init = { method: 'POST', headers, body };
    repeat(cleanup, 300, async () => (await fetch(`${stage.service.url}/crm/webhook`, init)).text());
  },

  'compressed bodies': async (stage, cleanup) => {
    const body = new Uint8Array(gzipSync(Buffer.alloc(50_000_000)));
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
    const init = { method: 'POST', headers, body };
    repeat(cleanup, 50, async () => (await fetch(`${stage.service.url}/crm/webhook`, init)).text());
  },

  'handshakes with wrong tokens': async (stage, cleanup) => {
    const token = `fbd_${'x'.repeat(43)}`;
    repeat(cleanup, 100, () => connectMac(stage.service.url, { token }));
  },

  'garbage frames': async (stage, cleanup) => {
    const { token } = await stage.device('mac-garbage', 'locGarbage');
    repeat(cleanup, 50, async () => {
      const mac = await connectMac(stage.service.url, { token });
      await mac.register('locGarbage');
      mac.sendRaw('{"a":['.repeat(40_000));
    });
  },
};
