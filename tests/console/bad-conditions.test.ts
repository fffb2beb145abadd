import { createCleanup } from '@footbridge/testkit/cleanup';
import { ed25519Key } from '@footbridge/testkit/keys';
import { activate } from '@footbridge/testkit/mac';
import { freePort } from '@footbridge/testkit/ports';
import { hasChromium } from '@footbridge/testkit/servers/chromium';
import { until } from '@footbridge/testkit/until';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LOCATION, TestBridge } from '../contract/test-bridge.ts';
import { startConsoleBrowser, WITHIN } from './console-browser.ts';
import type { ConsoleBrowser } from './console-browser.ts';

const cleanup = createCleanup();
const HOUR_MS = 3_600_000;

/** Texts that would run as code if a page inserted them as HTML, as an attribute or as an address. */
const PAYLOADS = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(2)</script>',
  "'-alert(3)-'",
  'javascript:alert(4)',
  '<svg/onload=alert(5)>',
  '{{constructor.constructor("alert(6)")()}}',
];

/** Makes a page list the paths of the responses that it has processed. */
const LIST_PROCESSED = `(() => {
  const { fetch } = window;
  window.processed = [];
  window.fetch = async (path, options) => {
    const response = await fetch(path, options);
    const read = response.text.bind(response);
    response.text = async () => {
      const text = await read();
      // Runs after the code that awaits the text.
      setTimeout(() => window.processed.push(path));
      return text;
    };
    return response;
  };
})()`;

/** Requests that fail are part of these tests. Code that is not allowed to run is not. */
const isExpected = (problem: string) => problem.startsWith('Failed to load resource');

describe.skipIf(!(await hasChromium()))('the console under bad conditions', { timeout: 120_000 }, () => {
  let bridge: TestBridge;
  let browser: ConsoleBrowser;

  beforeAll(async () => {
    // A test restarts the service on this port.
    bridge = await TestBridge.start({ env: { ADMIN_PORT: String(await freePort()) } });
    cleanup.add(() => bridge.stop());
    browser = await startConsoleBrowser(bridge, cleanup, { isExpected });
    await bridge.mac();
  }, 120_000);
  afterAll(() => cleanup.run());

  async function create(path: string, body: object): Promise<Record<string, string>> {
    const created = await bridge.operator('POST', path, body);
    expect(created.status).toBe(201);
    return created.body as Record<string, string>;
  }

  /** Puts the text into every field that a page shows: of operators, of the CRM and of a Mac that lacks a permission. */
  async function insert(text: string): Promise<void> {
    const license = await create('/operator/licenses', { label: text, maxSeats: 1 });
    const { scheme, publicKey } = ed25519Key(text);
    await create('/operator/keys', { label: text, scheme, publicKey, header: 'X-CRM-Signature' });
    const path = `/operator/locations/${encodeURIComponent(text)}`;
    expect((await bridge.operator('PUT', path, { licenseId: license['id'] })).status).toBe(200);
    await bridge.authorise(text);
    const device = { name: text, osVersion: text, appVersion: text };
    const { deviceToken = '' } = await activate(bridge.url, { licenseKey: license['key'] ?? '', ...device });
    const mac = await bridge.connect({ token: deviceToken });
    await mac.register(text);
    mac.send({
      type: 'state',
      capabilities: [],
      permissions: { fullDisk: 'denied' },
      lastSentAt: null,
      lastReceivedAt: null,
    });
    await mac.roundTrip();
    await bridge.webhook({ locationId: text, contactId: text, messageId: text, userId: text, message: text });
    await bridge.post({ locationId: text }, { unsigned: true });
  }

  /** Creates several licenses and assigns a new location to one that is not the first. Returns the id of that license. */
  async function ownedLocation(locationId: string): Promise<string> {
    const license = async () => (await create('/operator/licenses', { label: 'Agency', maxSeats: 1 }))['id'];
    const [, owner = ''] = [await license(), await license(), await license()];
    await bridge.operator('PUT', `/operator/locations/${locationId}`, { licenseId: owner });
    return owner;
  }

  async function expectOwner(locationId: string, licenseId: string): Promise<void> {
    const { body } = await bridge.operator('GET', '/operator/locations');
    expect(body['locations']).toContainEqual(expect.objectContaining({ locationId, licenseId }));
  }

  async function openIssues(): Promise<number> {
    await bridge.clock.skip(15_000);
    return ((await bridge.operator('GET', '/operator/issues')).body['issues'] as unknown[]).length;
  }

  async function signIn(page: Page, token: string): Promise<void> {
    await page.getByLabel('Operator token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  it('T14 shows text from outside on every page, and runs none of it as code', async () => {
    for (const payload of PAYLOADS) await insert(payload);
    await until(async () => (await openIssues()) >= PAYLOADS.length);
    await bridge.operator('PUT', `/operator/locations/${LOCATION}/capture`);
    const { answer } = await bridge.webhook({ message: PAYLOADS.join('\n') });
    const { requestId } = answer as { requestId: string };
    await bridge.journalled(requestId, 'accepted');
    const page = await browser.open('');
    const paths = [
      '',
      '/messages',
      `/messages/${requestId}`,
      '/issues',
      '/macs',
      '/highlevel',
      '/keys',
      '/audit',
    ];
    for (const path of paths) {
      await page.goto(`${bridge.bridge.operatorUrl}/console${path}`);
      for (const payload of PAYLOADS) await page.getByText(payload).first().waitFor(WITHIN);
    }
    await page.goto(`${bridge.bridge.operatorUrl}/console/macs/pair?locationId=new`);
    for (const payload of PAYLOADS)
      await page
        .getByRole('option', { name: payload })
        .first()
        .waitFor({ ...WITHIN, state: 'attached' });
    await bridge.operator('DELETE', `/operator/locations/${LOCATION}/capture`);
  });

  it('S6 says that the clock of the browser is wrong, and counts with the time of the service', async () => {
    await ownedLocation('locClock');
    const page = await browser.open('/macs/pair');
    await page.clock.install({ time: Date.now() + 3 * HOUR_MS });
    await page.goto(`${bridge.bridge.operatorUrl}/console/macs/pair?locationId=locClock`);
    await page.getByText('180 minutes ahead of the clock of the service').waitFor(WITHIN);
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByText(/Expires in \d+:\d\d/).waitFor(WITHIN);
  });

  it('S6 loads while the service does not respond, and shows its data once it does', async () => {
    const page = await browser.open('/highlevel');
    await page.route('**/operator/**', (route) => route.abort());
    await page.reload();
    await page.getByText('The service does not respond').first().waitFor(WITHIN);
    await page.unroute('**/operator/**');
    await page.getByRole('rowheader', { name: LOCATION }).waitFor(WITHIN);
    await expect.poll(() => page.getByText('The service does not respond').count(), WITHIN).toBe(0);
  });

  it('M12 keeps the license of a location when the list of locations arrives late', async () => {
    const owner = await ownedLocation('locOwned');
    const page = await browser.open('/audit');
    await page.route('**/operator/locations', () => {});
    const licenses = page.waitForResponse('**/operator/licenses');
    await page.goto(`${bridge.bridge.operatorUrl}/console/macs/pair?locationId=locOwned`);
    await (await licenses).finished();
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByText('Waiting for the Mac').waitFor(WITHIN);
    await expectOwner('locOwned', owner);
  });

  it('M12 keeps the license of a location whose id was pasted with spaces', async () => {
    const owner = await ownedLocation('locPasted');
    const page = await browser.open('/macs/pair');
    await page.getByLabel('Location id').fill('locNew');
    await page.getByLabel('License').waitFor(WITHIN);
    await page.getByLabel('Location id').fill(' locPasted ');
    await page.getByRole('button', { name: 'Create pairing code' }).click();
    await page.getByText('Waiting for the Mac').waitFor(WITHIN);
    await expectOwner('locPasted', owner);
    expect(await page.getByLabel('License').count()).toBe(0);
  });

  it('M12 sets the number of seats that the field shows after a change elsewhere', async () => {
    const { id = '' } = await create('/operator/licenses', { label: 'Changed elsewhere', maxSeats: 5 });
    const seats = async () => {
      const { body } = await bridge.operator('GET', '/operator/licenses');
      const licenses = body['licenses'] as { id: string; seats: { max: number } }[];
      return licenses.find((license) => license.id === id)?.seats.max;
    };
    const page = await browser.open('/macs');
    const card = page.locator('section').filter({ hasText: 'Changed elsewhere' });
    const field = card.getByRole('spinbutton');
    const set = async () => {
      const response = page.waitForResponse(`**/operator/licenses/${id}`);
      await card.getByRole('button', { name: 'Change seats' }).click();
      await (await response).finished();
    };
    await card.getByText('0 of 5 seats in use').waitFor(WITHIN);
    await bridge.operator('PATCH', `/operator/licenses/${id}`, { maxSeats: 10 });
    await card.getByText('0 of 10 seats in use').waitFor(WITHIN);
    expect(await field.inputValue()).toBe('10');
    await set();
    expect(await seats()).toBe(10);
    await field.fill('7');
    await set();
    expect(await seats()).toBe(7);
  });

  it('S6 shows nothing of another message under the address of an unknown one', async () => {
    await bridge.webhook({ messageId: 'm-known' });
    const page = await browser.open('/messages/m-known');
    await page.getByRole('article').waitFor(WITHIN);
    const isAllowed = Promise.withResolvers<void>();
    await page.route('**/operator/messages/m-unknown*', async (route) => {
      await isAllowed.promise;
      await route.continue();
    });
    await page.evaluate(
      "history.pushState(null, '', '/console/messages/m-unknown'); dispatchEvent(new PopStateEvent('popstate'))",
    );
    await page.getByRole('article').waitFor({ ...WITHIN, state: 'detached' });
    isAllowed.resolve();
    await page.getByText('No message').waitFor(WITHIN);
  });

  it('S6 no longer shows a message that was erased', async () => {
    const phone = '+15555550163';
    await bridge.webhook({ messageId: 'm-erased', phone });
    const page = await browser.open('/messages/m-erased');
    await page.getByRole('article').waitFor(WITHIN);
    expect((await bridge.operator('POST', '/operator/privacy/erase', { phone })).status).toBe(200);
    await page.getByRole('article').waitFor({ ...WITHIN, state: 'detached' });
  });

  it('S6 keeps all entries of the audit log on the page while new ones arrive', async () => {
    let count = 0;
    const change = async (times: number) => {
      for (const end = count + times; count < end; count++)
        await bridge.operator('PUT', `/operator/locations/audited-${count}/capture`);
    };
    await change(60);
    const page = await browser.open('/audit');
    const cells = page.getByRole('cell', { name: /^audited-\d+$/ });
    await page.getByRole('cell', { name: 'audited-59', exact: true }).waitFor(WITHIN);
    await page.getByRole('button', { name: 'older' }).click();
    await page.getByRole('cell', { name: 'audited-0', exact: true }).waitFor(WITHIN);
    for (const total of [100, 140]) {
      await change(40);
      await page.getByRole('cell', { name: `audited-${total - 1}`, exact: true }).waitFor(WITHIN);
      expect(await cells.count()).toBe(total);
    }
  });

  it('S6 never shows an audit log with entries as empty', async () => {
    await bridge.operator('PUT', '/operator/locations/audited-last/capture');
    const page = await browser.open('/macs');
    await page.evaluate(`new MutationObserver(() => {
      window.wasEmpty ||= document.body.textContent.includes('There are no entries yet');
    }).observe(document.body, { childList: true, subtree: true, characterData: true })`);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('cell', { name: 'audited-last', exact: true }).waitFor(WITHIN);
    expect(await page.evaluate('window.wasEmpty')).toBe(false);
  });

  async function openMessages(): Promise<Page> {
    const page = await browser.open('/messages');
    await page.evaluate(LIST_PROCESSED);
    return page;
  }

  /** Starts a search for an id. Returns a function that lets its response through and resolves when the page has processed it. */
  async function startSlowSearch(page: Page, id: string): Promise<() => Promise<void>> {
    const isSent = Promise.withResolvers<void>();
    const isAllowed = Promise.withResolvers<void>();
    await page.route(`**/operator/messages/${id}`, async (route) => {
      isSent.resolve();
      await isAllowed.promise;
      await route.continue();
    });
    await page.getByRole('searchbox').fill(id);
    await page.getByRole('button', { name: 'Search' }).click();
    await isSent.promise;
    return async () => {
      isAllowed.resolve();
      const isProcessed = () => page.evaluate(`window.processed.includes('/operator/messages/${id}')`);
      await expect.poll(isProcessed, WITHIN).toBe(true);
    };
  }

  it('S6 stays on the page that the user opened while a search was running', async () => {
    const page = await openMessages();
    const respond = await startSlowSearch(page, 'slow-id');
    await page.getByRole('link', { name: 'Issues' }).click();
    await respond();
    await page.getByRole('heading', { name: 'Issues' }).waitFor(WITHIN);
    expect(await page.evaluate('location.pathname')).toBe('/console/issues');
  });

  it.each([
    ['first', ['first-id', 'last-id']],
    ['last', ['last-id', 'first-id']],
  ])(
    'S6 shows the result of the last of two searches when the response of the %s arrives first',
    async (_name, order) => {
      const page = await openMessages();
      const responses = new Map<string, () => Promise<void>>();
      for (const id of ['first-id', 'last-id']) responses.set(id, await startSlowSearch(page, id));
      for (const id of order) await responses.get(id)?.();
      expect(await page.evaluate('location.search')).toBe('?contactId=last-id');
    },
  );

  it('S6 says in words for a person that the token is wrong', async () => {
    const page = await browser.open('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'wrong');
    await page.getByRole('alert').filter({ hasText: 'does not accept this token' }).waitFor(WITHIN);
    expect(await page.getByText('Bearer').count()).toBe(0);
  });

  it.each([
    [400, 'This sign-in link is not complete'],
    [429, 'Too many sign-ins failed'],
  ])('S6 shows the sign-in form, and the reason, when a link gets %i', async (status, reason) => {
    const page = await browser.open('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    // The next navigation would abort the request that signs out.
    await page.getByLabel('Operator token').waitFor(WITHIN);
    let attempts = 0;
    await page.route('**/operator/session', async (route) => {
      if (route.request().method() !== 'POST') return await route.continue();
      attempts++;
      await route.fulfill({ status, json: { error: 'ERROR', message: 'For programs' } });
    });
    await page.goto(`${bridge.bridge.operatorUrl}/console/#code=abc`);
    await page.getByLabel('Operator token').waitFor(WITHIN);
    await page.getByText(reason).waitFor(WITHIN);
    // Longer than the delay between the attempts to reach a service that does not respond.
    await page.waitForTimeout(4000);
    expect(attempts).toBe(1);
  });

  it('S6 notices a restart of the service, and is live again by itself', async () => {
    const page = await browser.open('/macs');
    await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    await bridge.reset();
    // `bridge.close` would skip time, perhaps so much that the session expires.
    await bridge.bridge.stop();
    await page.getByText('The service does not respond').first().waitFor(WITHIN);
    await page.getByText('Reconnecting', { exact: true }).waitFor(WITHIN);
    await bridge.restart();
    await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    await expect.poll(() => page.getByText('The service does not respond').count(), WITHIN).toBe(0);
  });

  it('S6 says that the token was removed', async () => {
    const page = await browser.open('/messages');
    await page.getByRole('button', { name: 'Sign out' }).click();
    const { id = '', token = '' } = await create('/operator/tokens', { label: 'A customer', readOnly: true });
    await signIn(page, token);
    await page.getByText('Live', { exact: true }).waitFor(WITHIN);
    await bridge.operator('DELETE', `/operator/tokens/${id}`);
    await page.getByText('or its token was removed').waitFor(WITHIN);
    await page.getByLabel('Operator token').waitFor(WITHIN);
  });

  it('S6 says that the session has expired, and continues on the same page after signing in', async () => {
    const page = await browser.open('/audit');
    await page.getByRole('row').first().waitFor(WITHIN);
    bridge.clock.freeze(HOUR_MS);
    await page.getByText('You were signed out: the session has expired').waitFor(WITHIN);
    await signIn(page, bridge.bridge.operatorToken);
    await page.getByRole('heading', { name: 'Audit log' }).waitFor(WITHIN);
  });

  it('T14 violates no content security policy and opens no dialog', () => {
    expect(browser.problems).toEqual([]);
  });
});
