import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import ed25519 from '../vectors/signatures-ed25519.json' with { type: 'json' };

/** The globals that the kit uses, all of which exist in browsers, workers and Node. */
const WEB = { AbortSignal, clearTimeout, crypto, fetch, Headers, setTimeout, TextDecoder, TextEncoder, URL };

let bundle = '';

beforeAll(async () => {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      lib: {
        entry: fileURLToPath(new URL('kit.ts', import.meta.url)),
        formats: ['iife'],
        name: 'kit',
        fileName: 'kit',
      },
    },
  });
  const [chunk] = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  bundle = chunk && 'code' in chunk ? chunk.code : '';
});

describe('the kit bundled for browsers', () => {
  it('does not use Node APIs', () => {
    expect(bundle).toContain('svc-metadata');
    expect(bundle).not.toMatch(/["']node:|\brequire\(|\bBuffer\b|\bprocess\./);
  });

  it('is smaller than 16 kB gzipped', () => {
    expect(gzipSync(bundle).length).toBeLessThan(16_000);
  });

  it('signs, verifies, reads footers and reduces reactions with Web APIs only', async () => {
    const context = createContext({ ...WEB, keys: ed25519.keys.seed });
    const ran: unknown = await runInContext(
      `${bundle}
      (async () => {
        const { headers, body } = await kit.signWebhook('{"message":"Hi"}', keys.privateKeyPem);
        const trusted = [{ publicKey: keys.publicKeyPem, scheme: 'Ed25519' }];
        const { ok } = await kit.verifyWebhook(body, headers, trusted);
        const message = kit.makeReaction({ chatId: 7, target: 'g', kind: 'emoji', emoji: '🎉', form: 'sentinel' });
        const state = kit.reduceReactions({}, { message, sender: 'me' });
        return JSON.stringify([ok, kit.parseFooter(message).metadata.chat_id, kit.reactionsFor(state, 'g')]);
      })()`,
      context,
    );
    expect(ran).toBe('[true,7,[{"sender":"me","kind":"emoji","emoji":"🎉"}]]');
  });
});
