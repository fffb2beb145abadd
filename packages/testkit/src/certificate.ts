import { generateKeyPairSync, sign } from 'node:crypto';

function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'hex') : part)),
  );
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

/** A self-signed certificate for one DNS name and its key, both PEM. */
export function certificateFor(name: string): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, '06082a8648ce3d040302');
  const subject = der(0x30, der(0x31, der(0x30, '0603550403', der(0x0c, Buffer.from(name)))));
  const validity = der(
    0x30,
    der(0x17, Buffer.from('200101000000Z')),
    der(0x17, Buffer.from('491231235959Z')),
  );
  const altNames = der(0x30, '0603551d11', der(0x04, der(0x30, der(0x82, Buffer.from(name)))));
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const body = der(
    0x30,
    'a003020102',
    '020101',
    ecdsaWithSha256,
    subject,
    validity,
    subject,
    spki,
    der(0xa3, der(0x30, altNames)),
  );
  const whole = der(0x30, body, ecdsaWithSha256, der(0x03, '00', sign('sha256', body, privateKey)));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}
