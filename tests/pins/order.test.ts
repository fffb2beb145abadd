import { until } from '@footbridge/testkit/until';
import { afterEach, expect, it } from 'vitest';

import { PHONE, TestBridge } from '../contract/test-bridge.ts';
import { expectGolden, stable } from './golden-file.ts';

let running: TestBridge | undefined;
afterEach(() => running?.stop());

async function start(): Promise<TestBridge> {
  running = await TestBridge.start({ stoppedClock: true });
  return running;
}

type Line = Readonly<Record<string, unknown>>;

/** The events of the log, with the part that each is about. */
const events = (bridge: TestBridge) =>
  bridge.bridge.logs
    .map((line) => JSON.parse(line) as Line)
    .map(({ event, part, route, status, code }) =>
      [event, part, route, status, code]
        .filter((one) => typeof one === 'string' || typeof one === 'number')
        .join(' '),
    );

/** Every counter that has counted, with its labels. */
async function counted(bridge: TestBridge): Promise<string[]> {
  const text = await (await fetch(`${bridge.bridge.operatorUrl}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => /^footbridge_\w+(_total|_count)(\{.*\})? [1-9]/.test(line))
    .toSorted();
}

const calls = (bridge: TestBridge) =>
  bridge.crm.calls.map(({ method, path, body }) => ({ call: `${method} ${path}`, body: body ?? null }));

it('an outbound message causes these events, in this order', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  bridge.crm.forget();
  bridge.bridge.logs.length = 0;
  const { status, answer } = await bridge.webhook({ messageId: 'message-1' });
  const { requestId } = answer as { requestId: string };
  const frame = await mac.nextFrame('send');
  mac.confirm(requestId);
  await bridge.journalled(requestId, 'status_sent');
  const ack = await mac.ack(mac.status({ requestId, messageId: 'message-1', status: 'delivered' }));
  await bridge.clock.skip(5000);
  const { steps } = await until(async () => {
    const found = await bridge.journalled(requestId, 'mac_reported');
    return found.steps.length === 5 && found;
  });
  const names = new Map([[requestId, '<request id>']]);
  expectGolden(
    'outbound',
    stable(
      {
        response: { status, answer },
        frame,
        ack,
        calls: calls(bridge),
        steps: steps.map(({ step, detail }) => ({ step, detail })),
        log: events(bridge),
        counted: await counted(bridge),
      },
      names,
    ),
  );
});

it('an inbound message causes these events, in this order', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  bridge.crm.forget();
  bridge.bridge.logs.length = 0;
  const seq = mac.received({
    sender: PHONE,
    text: 'Hello',
    guid: 'GUID-1',
    sentAt: new Date(bridge.clock.now()).toISOString(),
  });
  const ack = await mac.ack(seq);
  const { steps } = await bridge.journalled('GUID-1', 'crm_accepted');
  await bridge.clock.skip(5000);
  expectGolden(
    'inbound',
    stable(
      {
        ack,
        calls: calls(bridge),
        steps: steps.map(({ step, detail }) => ({ step, detail })),
        log: events(bridge),
        counted: await counted(bridge),
      },
      new Map(),
    ),
  );
});

it('the parts start and stop in this order, with a Mac connected and an issue open', async () => {
  const bridge = await start();
  const mac = await bridge.mac();
  mac.send({
    type: 'state',
    capabilities: [],
    messages: { running: true, signedIn: false },
    permissions: { fullDisk: 'granted', automation: 'granted' },
    lastSentAt: null,
    lastReceivedAt: null,
  });
  const open = async () => {
    const { body } = await bridge.operator('GET', '/operator/issues');
    return (body['issues'] as { kind: string }[]).map(({ kind }) => kind);
  };
  await until(async () => {
    await bridge.clock.skip(30_000);
    return (await open()).length > 0;
  });
  const issues = await open();
  const started = events(bridge);
  bridge.bridge.logs.length = 0;
  bridge.crm.forget();
  await bridge.close();
  const { code, reason } = await mac.closed;
  expectGolden(
    'start-and-stop',
    stable(
      {
        started: started.filter((event) =>
          /^(service|cluster|keys|journal|sql|operator|alerts|issue)/.test(event),
        ),
        issues,
        stopped: events(bridge),
        closed: { code, reason },
        calls: calls(bridge),
        stored: bridge.rows('select kind, closed_at from issues'),
      },
      new Map(),
    ),
  );
  expect(issues).not.toEqual([]);
});
