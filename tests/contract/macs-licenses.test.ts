import { connectMac, SocketClosedError } from '@footbridge/testkit/mac';
import type { Mac } from '@footbridge/testkit/mac';
import { expect, it } from 'vitest';

import { bridges } from './test-bridge.ts';
import type { TestBridge } from './test-bridge.ts';

const start = bridges();

/** `claim`: the Mac of the first license registers. `join`: the second license is created. `code`: the operator asks for a pairing code. */
const STEPS = ['claim', 'join', 'assign first', 'assign second', 'release', 'code', 'pair'] as const;
type Step = (typeof STEPS)[number];
type Tenant = 'first' | 'second';

const isPossible = (order: readonly Step[]): boolean =>
  before(order, 'join', 'assign second') && before(order, 'code', 'pair');

function before(order: readonly Step[], one: Step, other: Step): boolean {
  const index = order.indexOf(other);
  return index === -1 || order.slice(0, index).includes(one);
}

/** Returns the possible orders of the steps. */
function orders(left: readonly Step[], order: readonly Step[] = []): Step[][] {
  if (left.length === 0) return isPossible(order) ? [[...order]] : [];
  return left.flatMap((step) =>
    orders(
      left.filter((other) => other !== step),
      [...order, step],
    ),
  );
}
const ALL = (['assign first', 'release'] as const).flatMap((left) =>
  orders(STEPS.filter((step) => step !== left)),
);

/** Two tenants, one order of steps. Their Macs have the same device id and confirm nothing. */
class Run {
  readonly #bridge: TestBridge;
  readonly #locationId: string;
  readonly #home: string;
  readonly #licenses = new Map<Tenant, { readonly id: string; readonly key: string }>();
  /** Every Mac that was ever connected, with its tenant. */
  readonly #macs: { readonly mac: Mac; readonly tenant: Tenant }[] = [];
  /** Who owned the location when each text was sent, by messageId. */
  readonly #texts = new Map<string, Tenant | 'none'>();
  readonly #tokens: { readonly token: string; readonly tenant: Tenant; readonly isPaired: boolean }[] = [];
  #owner: Tenant | undefined;
  #last: Step | undefined;
  #isConfirmed = false;
  #code: { readonly text: string; readonly tenant: Tenant; isAlive: boolean } | undefined;

  constructor(bridge: TestBridge, name: string) {
    this.#bridge = bridge;
    this.#locationId = `shared-${name}`;
    this.#home = `home-${name}`;
  }

  async play(order: readonly Step[]): Promise<void> {
    await this.#create('first');
    await this.#assign(this.#home, 'first');
    for (const step of order) {
      this.#last = step;
      await this.#step(step);
      await this.#text();
      for (const one of this.#tokens) {
        await this.#register(one);
        await this.#text();
      }
      await this.#readings();
    }
    for (const { mac } of this.#macs) mac.terminate();
    for (const { id } of this.#licenses.values())
      await this.#bridge.operator('PATCH', `/operator/licenses/${id}`, { status: 'revoked' });
  }

  async #step(step: Step): Promise<void> {
    switch (step) {
      case 'claim':
        return await this.#activate('first');
      case 'join':
        await this.#create('second');
        return await this.#activate('second');
      case 'assign first':
      case 'assign second':
        return this.#move(step === 'assign first' ? 'first' : 'second');
      case 'release':
        return this.#move(undefined);
      case 'code':
        return this.#createCode();
      case 'pair':
        return this.#pair();
    }
  }

  async #create(tenant: Tenant): Promise<void> {
    this.#licenses.set(tenant, await this.#bridge.createLicense());
  }

  async #activate(tenant: Tenant): Promise<void> {
    const token = await this.#bridge.token('mac-0001', this.#licenses.get(tenant)?.key);
    this.#tokens.push({ token, tenant, isPaired: false });
  }

  async #assign(locationId: string, tenant: Tenant | undefined): Promise<number> {
    const licenseId = tenant === undefined ? null : this.#licenses.get(tenant)?.id;
    return (await this.#bridge.operator('PUT', `/operator/locations/${locationId}`, { licenseId })).status;
  }

  async #move(tenant: Tenant | undefined): Promise<void> {
    if ((await this.#assign(this.#locationId, tenant)) !== 200) {
      expect(tenant).toBeUndefined();
      expect(this.#owner).toBeUndefined();
      return;
    }
    if (this.#code !== undefined && this.#owner !== tenant) this.#code.isAlive = false;
    this.#owner = tenant;
    this.#isConfirmed = tenant !== undefined;
  }

  async #createCode(): Promise<void> {
    const path = `/operator/locations/${this.#locationId}/pairing-codes`;
    const { status, body } = await this.#bridge.operator('POST', path);
    const mayPair = this.#owner !== undefined && (this.#isConfirmed || this.#licenses.size === 1);
    expect(status).toBe(mayPair ? 201 : 409);
    if (this.#owner === undefined || !mayPair) return;
    expect(body['licenseId']).toBe(this.#licenses.get(this.#owner)?.id);
    this.#code = { text: String(body['code']), tenant: this.#owner, isAlive: true };
  }

  async #pair(): Promise<void> {
    if (this.#code === undefined) return;
    const response = await fetch(`${this.#bridge.url}/mac/pair`, {
      method: 'POST',
      body: JSON.stringify({ code: this.#code.text, deviceId: 'mac-paired' }),
    });
    const isUsable = this.#code.isAlive && (this.#isConfirmed || this.#licenses.size === 1);
    expect(response.status).toBe(isUsable ? 201 : 403);
    if (response.status !== 201) return;
    const { deviceToken } = (await response.json()) as { deviceToken: string };
    this.#tokens.push({ token: deviceToken, tenant: this.#code.tenant, isPaired: true });
    expect(
      await this.#opens(deviceToken, this.#home),
      'a paired Mac serves its location only',
    ).toBeUndefined();
  }

  async #register({ token, tenant, isPaired }: { token: string; tenant: Tenant; isPaired: boolean }) {
    // Macs of one license that displace each other would have to wait.
    for (const { mac: earlier } of this.#macs) if (earlier.isOpen) await earlier.close();
    const mac = await this.#opens(token, this.#locationId);
    const isFree = this.#owner === undefined && this.#licenses.size === 1;
    const mayServe = this.#owner === tenant || isFree;
    expect(
      mac !== undefined,
      `the ${isPaired ? 'paired' : 'activated'} Mac of ${tenant} after ${this.#last}`,
    ).toBe(mayServe);
    if (mac === undefined) return;
    if (isFree) this.#owner = tenant;
    this.#macs.push({ mac, tenant });
  }

  /** Resolves with undefined when the service closes the socket. */
  async #opens(token: string, locationId: string): Promise<Mac | undefined> {
    const mac = await connectMac(this.#bridge.url, { token });
    try {
      await mac.register(locationId, { capabilities: ['received'] });
      return mac;
    } catch (error) {
      if (!(error instanceof SocketClosedError)) throw error;
      expect(error.code).toBe(4504);
      return undefined;
    }
  }

  async #text(): Promise<void> {
    const messageId = `${this.#locationId}-${this.#texts.size}`;
    this.#texts.set(messageId, this.#owner ?? 'none');
    await this.#bridge.reaches(this.#locationId, { messageId });
  }

  async #readings(): Promise<void> {
    const open = this.#macs.filter(({ mac }) => mac.isOpen);
    await Promise.all(open.map(({ mac }) => mac.roundTrip().catch(() => undefined)));
    for (const { mac, tenant } of this.#macs)
      for (const frame of mac.frames)
        if (frame.type === 'send') expect(this.#texts.get(String(frame.messageId))).toBe(tenant);
  }
}

it('M8 two licenses read only their own texts in every order of claim, assign, pair, move and release', async () => {
  const bridge = await start({ oauth: 'off', env: { LOCATION_CLAIM: 'auto' } });
  for (const [index, order] of ALL.entries())
    try {
      // Codes that became invalid count as wrong ones, and thirty in a minute lock the address out.
      if (index % 25 === 0) await bridge.clock.skip(60_000);
      await new Run(bridge, String(index)).play(order);
    } catch (cause) {
      throw new Error(`order ${order.join(', ')}`, { cause });
    }
}, 900_000);
