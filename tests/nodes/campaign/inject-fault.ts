import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import type { Fault } from '@footbridge/testkit/crm';
import type { FaultProxy, Toxic } from '@footbridge/testkit/fault-proxy';

import type { Cluster, Node } from '../cluster.ts';
import type { FailoverWay } from '../movable-redis.ts';
import type { ReconnectingMac } from '../reconnecting-mac.ts';
import type { AgentMac } from './agent-mac.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { PostgresDisk } from './postgres-disk.ts';
import { Outages } from './outages.ts';
import type { ScheduledFault } from './schedule.ts';
import { stepClock } from './stepped-clock.ts';

const run = promisify(execFile);

export interface FaultTargets {
  readonly cluster: Cluster;
  /** The scripted Macs of each location. */
  readonly locations: readonly (readonly ReconnectingMac[])[];
  readonly agents: readonly AgentMac[];
  readonly disk: PostgresDisk;
}

const CLOCK_STEP_MS = 90_000;
/** Less than the header of a journal: no write succeeds. */
const FULL_DISK_BYTES = 1;
/** How long a fault waits for the call that it affects. */
const CALL_MS = 10_000;
const LOOK_MS = 20;

/** With `dropAnswer` and `stored` the CRM has done what it was asked. */
const LOST_RESPONSES: readonly Fault[] = [
  'dropAnswer',
  { status: 500, stored: true },
  { status: 504, stored: true },
];

/** Returns a function that injects one fault and resolves when it is over. Faults of the same node, server or agent wait for each other. */
export function createInjector({ cluster, locations, agents, disk }: FaultTargets) {
  const { crm, nodes } = cluster;
  const takeTurns = createTurns();
  const outages = new Outages(nodes.length);
  const node = (fault: ScheduledFault, act: (one: Node) => Promise<unknown>) =>
    takeTurns(choose(nodes, fault.target), act);
  /** Records an outage while the node cannot hear the others. */
  const lost = (fault: ScheduledFault, act: (one: Node) => Promise<unknown>) =>
    node(fault, (one) => outages.during(nodes.indexOf(one), () => act(one)));
  const agent = (fault: ScheduledFault, act: (one: AgentMac) => Promise<unknown>) =>
    takeTurns(choose(agents, fault.target), act);
  const redis = (act: (server: Cluster['redis']) => Promise<unknown>) => takeTurns(cluster.redis, act);
  /** The former primary stays, as a replica. The address of Redis leads to it for a while. */
  const failedOver = (way: FailoverWay, { durationMs }: ScheduledFault) =>
    redis(() => outages.during(undefined, () => cluster.failOver(way, durationMs)));
  const postgres = (act: (server: Cluster['postgres']) => Promise<unknown>) =>
    takeTurns(cluster.postgres, act);
  const macsOf = ({ target }: ScheduledFault) => choose(locations, target);

  async function disturb(line: FaultProxy, toxic: Toxic, { durationMs }: ScheduledFault): Promise<void> {
    const handle = line.add(toxic);
    await sleep(durationMs);
    handle.remove();
  }

  /** The rule stays until a call meets it. */
  async function loseResponses(match: string, { variant, durationMs }: ScheduledFault): Promise<void> {
    crm.injectFault({ match, times: 1 + Math.floor(variant * 3), how: choose(LOST_RESPONSES, variant) });
    await sleep(durationMs);
  }

  async function failCalls(how: Fault, { durationMs }: ScheduledFault): Promise<void> {
    const rule = crm.injectFault({ match: '*', times: 1000, how });
    await sleep(durationMs);
    rule.stop();
  }

  /** Under a lock, because the CRM cannot tell which location refreshes. */
  const loseToken = (how: Fault, fault: ScheduledFault) =>
    takeTurns(crm, async () => {
      const { locationId } = choose([...locations.flat(), ...agents], fault.target);
      const rule = crm.injectFault({ match: 'token', how });
      crm.expireTokens(locationId);
      const end = performance.now() + CALL_MS;
      while (rule.hits === 0 && performance.now() < end) await sleep(LOOK_MS);
      rule.stop();
      await sleep(fault.durationMs);
    });

  const actions: Record<FaultKind, (fault: ScheduledFault) => Promise<unknown>> = {
    'node killed': (fault) =>
      lost(fault, async (one) => {
        const { service } = one;
        const index = nodes.indexOf(one);
        const aloneSince = outages.aloneSince(index);
        for (const mac of [...locations.flat(), ...agents]) mac.noteKill(index, aloneSince);
        await service.kill9();
        await sleep(fault.durationMs);
        await cluster.startAgain(service);
      }),
    'node frozen': (fault) =>
      lost(fault, async ({ service }) => {
        service.pause();
        await sleep(fault.durationMs);
        service.resume();
      }),
    'node clock stepped by 90 s': (fault) =>
      node(fault, async ({ service }) => {
        stepClock(service, fault.variant < 0.5 ? -CLOCK_STEP_MS : CLOCK_STEP_MS);
        await sleep(fault.durationMs);
        stepClock(service, 0);
      }),
    'node cut off from Redis': (fault) =>
      lost(fault, (one) => disturb(one.redis, { type: 'timeout' }, fault)),
    'node deaf to Redis': (fault) =>
      lost(fault, (one) => disturb(one.redis, { type: 'timeout', direction: 'down' }, fault)),
    'Redis replies delayed': (fault) =>
      node(fault, (one) =>
        disturb(one.redis, { type: 'latency', direction: 'down', ms: 200, jitterMs: 1200 }, fault),
      ),
    'Redis sockets cut': (fault) => node(fault, async (one) => one.redis.cut()),
    'Redis flushed': () => redis((server) => server.flush()),
    'Redis restarted': ({ variant }) =>
      redis((server) => outages.during(undefined, () => server.restart({ keepData: variant < 0.3 }))),
    'Redis frozen': ({ durationMs }) =>
      redis((server) =>
        outages.during(undefined, async () => {
          server.pause();
          await sleep(durationMs);
          server.resume();
        }),
      ),
    'Redis failed over': (fault) => failedOver('FAILOVER', fault),
    'Redis primary made a replica': (fault) => failedOver('REPLICAOF', fault),
    'Redis switched by a sentinel': (fault) => failedOver('Sentinel', fault),
    'Redis full': ({ durationMs }) =>
      redis(async (server) => {
        await server.command('CONFIG SET maxmemory 1');
        await sleep(durationMs);
        await server.command('CONFIG SET maxmemory 0');
      }),
    'PostgreSQL sockets cut': (fault) => node(fault, async (one) => one.postgres.cut()),
    'PostgreSQL restarted': () => postgres((server) => server.restart()),
    'PostgreSQL killed': ({ durationMs }) =>
      postgres(async (server) => {
        await server.kill();
        await sleep(durationMs);
        await server.restart();
      }),
    'PostgreSQL slow': (fault) =>
      node(fault, (one) => disturb(one.postgres, { type: 'latency', ms: 300, jitterMs: 900 }, fault)),
    'PostgreSQL disk full': ({ durationMs }) =>
      postgres(async () => {
        await disk.fill();
        await sleep(durationMs);
        await disk.free();
      }),
    'node cut off from PostgreSQL': (fault) =>
      node(fault, (one) => disturb(one.postgres, { type: 'timeout' }, fault)),
    'status response lost': (fault) => loseResponses('status', fault),
    'inbound response lost': (fault) => loseResponses('inbound', fault),
    'contact search response lost': (fault) => loseResponses('duplicate', fault),
    'contact upsert response lost': (fault) => loseResponses('upsert', fault),
    'conversation read response lost': async (fault) => {
      crm.injectFault({ match: fault.variant < 0.5 ? 'conversations' : 'messages', how: 'dropAnswer' });
      await loseResponses('inbound', fault);
    },
    'token request lost': (fault) => loseToken('reset', fault),
    'token response lost': (fault) => loseToken('dropAnswer', fault),
    'CRM overloaded': (fault) =>
      failCalls(fault.variant < 0.5 ? { status: 503 } : { status: 429, retryAfter: 1 }, fault),
    'CRM slow': (fault) => failCalls({ answerDelayMs: 500 + fault.variant * 2000 }, fault),
    'Mac dropped': async (fault) =>
      macsOf(fault)
        .find(({ wanted }) => wanted)
        ?.drop(),
    'Mac displaced': async (fault) => {
      const challenger = macsOf(fault).find(({ wanted }) => !wanted);
      if (challenger !== undefined) challenger.wanted = true;
    },
    'Mac repeats everything': async (fault) =>
      macsOf(fault)
        .find(({ wanted }) => wanted)
        ?.repeatEverything(),
    'Mac links black-holed': (fault) =>
      node(fault, async (one) => {
        for (const mac of locations.flat()) mac.loseLine(nodes.indexOf(one));
        await disturb(one.macs, { type: 'timeout', probability: 0.5 }, fault);
      }),
    'Mac links slow': (fault) =>
      node(fault, (one) => disturb(one.macs, { type: 'latency', ms: 200, jitterMs: 500 }, fault)),
    'agent killed': (fault) => agent(fault, (mac) => mac.killAndStart(fault.durationMs)),
    'agent frozen': (fault) =>
      agent(fault, async (mac) => {
        mac.agent.pause();
        await sleep(fault.durationMs);
        mac.agent.resume();
      }),
    'agent journal locked': (fault) =>
      agent(fault, async (mac) => {
        const journal = new DatabaseSync(join(mac.agent.dataDir, 'journal.db'));
        journal.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
        await sleep(fault.durationMs);
        journal.close();
      }),
    'agent disk full': (fault) =>
      agent(fault, async (mac) => {
        const pid = String(mac.agent.pid);
        await run('prlimit', ['--pid', pid, `--fsize=${FULL_DISK_BYTES}:`]);
        await sleep(fault.durationMs);
        // The agent may have exited.
        await run('prlimit', ['--pid', pid, '--fsize=unlimited:']).catch(() => undefined);
      }),
  };
  return async (fault: ScheduledFault): Promise<void> => void (await actions[fault.kind](fault));
}

function choose<T>(from: readonly T[], share: number): T {
  const chosen = from[Math.min(from.length - 1, Math.floor(share * from.length))];
  if (chosen === undefined) throw new Error('There is nothing to choose from.');
  return chosen;
}

/** Runs the actions of one target one after the other. */
function createTurns() {
  const last = new Map<unknown, Promise<unknown>>();
  return async <T>(target: T, act: (one: T) => Promise<unknown>): Promise<unknown> => {
    const turn = (last.get(target) ?? Promise.resolve()).then(() => act(target));
    last.set(
      target,
      turn.catch(() => undefined),
    );
    return turn;
  };
}
