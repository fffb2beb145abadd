// The cost of one Ed25519 verification with each library, and of RSA for comparison. `node bench/signatures.ts [rounds]`
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import process from 'node:process';

import { ed25519Verifier, opensslVerifier } from '@footbridge/service/relay/keys/key-ring';

const ROUNDS = Number(process.argv[2] ?? 9);
const CALLS = 1000;

const body = Buffer.from(
  JSON.stringify({
    contactId: 'GKBhT6BfwY9mjzXAU3sq',
    locationId: 'GKAWb4yu7A4LSc0skQ6g',
    messageId: 'GKJxs4P5L8dWc5CFUITM',
    type: 'SMS',
    phone: '+15864603685',
    message: 'The text message to be sent to the contact',
    attachments: [],
    userId: 'GK56r6wdJDrkUPd0xsmx',
  }),
);
const ed25519 = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const signature = sign(null, body, ed25519.privateKey);
const rsaSignature = sign('sha256', body, rsa.privateKey);
const pem = ed25519.publicKey.export({ type: 'spki', format: 'pem' });
const inUse = ed25519Verifier(ed25519.publicKey);
const openssl = opensslVerifier(ed25519.publicKey);

const CANDIDATES: Record<string, () => boolean> = {
  'Ed25519, as the service does it': () => inUse(body, signature),
  'Ed25519, OpenSSL': () => openssl(body, signature),
  'Ed25519, OpenSSL, key parsed every time': () => verify(null, body, createPublicKey(pem), signature),
  'RSA-2048, OpenSSL': () => verify('sha256', body, rsa.publicKey, rsaSignature),
};

/** Returns the CPU time of this process per call, in microseconds. Other load on the machine is not included. */
function cost(call: () => boolean): number {
  const before = process.cpuUsage();
  for (let n = 0; n < CALLS; n++) if (!call()) throw new Error('a valid signature was rejected');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const costs = new Map(Object.keys(CANDIDATES).map((name) => [name, [] as number[]]));
for (let round = 0; round <= ROUNDS; round++)
  for (const [name, call] of Object.entries(CANDIDATES)) {
    const measured = cost(call);
    if (round > 0) costs.get(name)?.push(measured);
  }
for (const [name, measured] of costs) {
  const sorted = measured.sort((left, right) => left - right);
  const at = (part: number) => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(0);
  console.log(`${name.padEnd(40)} ${at(0.5).padStart(5)} µs  (${at(0)}–${at(1)})`);
}
