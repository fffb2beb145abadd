import { seeded } from '@footbridge/testkit/seeded';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Cluster } from './cluster.ts';
import type { AgentMac } from './campaign/agent-mac.ts';
import { isForgottenByAgent, judge } from './campaign/score.ts';
import type { Score } from './campaign/score.ts';
import { sendUntilTaken } from './send-until-taken.ts';
import type { Sent } from './send-until-taken.ts';
import { ReconnectingMac } from './reconnecting-mac.ts';

export interface TrafficOptions {
  /** In each direction: a number, sent as fast as the faults allow, or a steady rate for as long as the faults last. */
  readonly messages: number | Pace;
  readonly seed: number;
  /** With scripted Macs. */
  readonly locations: number;
  /** Macs that are the real agent program, each with a location of its own. */
  readonly agents?: readonly AgentMac[];
  readonly onProgress?: (progress: TrafficProgress) => void;
}

/** Messages per second. */
export interface Pace {
  readonly inbound: number;
  readonly outbound: number;
}

export interface TrafficProgress {
  /** Both ways together. */
  readonly messages: number;
  readonly faults: number;
}

/** What goes wrong meanwhile: so many steps, some at once. */
export interface Trouble {
  readonly steps: number;
  readonly atOnce: number;
  step(): Promise<void>;
  /** After the last step. */
  heal?(): Promise<void>;
}

export interface TrafficScore extends Score {
  /** Lines of nodes that call themselves a bug, and nodes that ended by themselves. */
  readonly bugs: readonly string[];
  readonly sent: readonly Sent[];
}

/** Chats of a Mac at the same time. */
const CHATS = 3;
/** After so many messages other people write, whose contacts are not known yet. */
const CHATS_CHANGE_AFTER = 100;
const PAUSE_MS = 3;
const MOST_UNACKNOWLEDGED = 100;
const MOST_UNDER_WAY = 600;
/** After the last trouble, so long without progress: former owners may be waited for, and a displaced Mac has to wait for its turn. */
const QUIET_MS = 75_000;
const RECALL_MS = 2000;
const ARRIVAL_MS = 15_000;

/** Sends messages both ways during the faults, until all are delivered. Each location has two Macs, one of which is wanted. */
export async function traffic(
  cluster: Cluster,
  { messages, seed, locations: count, agents = [], onProgress = () => {} }: TrafficOptions,
  troubleFor: (locations: readonly (readonly ReconnectingMac[])[], random: () => number) => Trouble,
): Promise<TrafficScore> {
  const random = seeded(seed);
  const startedAt = performance.now();
  const locations = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const locationId = await cluster.location();
      const mac = (wanted: boolean, second: number) =>
        new ReconnectingMac(cluster, locationId, seeded(seed + 2 * index + second + 1), wanted);
      return [true, false].map(mac);
    }),
  );
  const macs = locations.flat();
  const lives = [...macs, ...agents].map((mac) => mac.live());
  const trouble = troubleFor(locations, random);
  const { crm } = cluster;
  const sent: Promise<Sent>[] = [];
  const places = [
    ...locations.map((here) => ({ locationId: here[0]?.locationId ?? '', macs: here })),
    ...agents.map((agent) => ({ locationId: agent.locationId, macs: [agent] })),
  ];
  const placeOf = (index: number) => places[index % places.length] ?? { locationId: '', macs: [] };
  const freeMac = (place: number) =>
    placeOf(place).macs.find(({ wanted, unacknowledged }) => wanted && unacknowledged < MOST_UNACKNOWLEDGED);
  let [begun, begunAt, over, lateAt, written] = [0, 0, 0, Infinity, 0];
  let [read, delivered] = [0, 0];
  const finished = new AbortController();
  const tell = () => onProgress({ messages: written, faults: over });

  /** The next place with a Mac that takes messages, or the next one when there is none. */
  const nextFree = (place: number) => {
    const others = places.map((_, offset) => (place + 1 + offset) % places.length);
    return others.find((other) => freeMac(other) !== undefined) ?? others[0] ?? 0;
  };

  /** Returns how many messages were reported to the CRM as delivered. */
  const deliveries = () => {
    for (const { status } of crm.statuses.slice(read)) if (status === 'delivered') delivered++;
    read = crm.statuses.length;
    return delivered;
  };

  const isOver = () => over >= trouble.steps;
  const isLast = (index: number) => (typeof messages === 'number' ? index >= messages : isOver());
  const isDue = (index: number, way: keyof Pace) =>
    typeof messages === 'number'
      ? isOver() || index < (messages * (over + 1)) / trouble.steps
      : index < ((performance.now() - begunAt) / 1000) * messages[way];
  /** The CRM pauses when deliveries are a second behind, so that a machine that cannot keep up gets a lower rate. */
  const isBehind = () =>
    typeof messages !== 'number' && !isOver() && sent.length - deliveries() >= messages.outbound;
  /** A steady rate needs no pause: messages that a stall of this process delayed are sent at once. */
  const pause = () => (typeof messages === 'number' ? sleep(PAUSE_MS) : undefined);

  /** A location whose messages are held up does not stop the others. */
  async function peopleWrite(): Promise<void> {
    let place = 0;
    for (let index = 0; !isLast(index); index++) {
      place = nextFree(place);
      while (!isDue(index, 'inbound') || (freeMac(place) === undefined && performance.now() < lateAt)) {
        await sleep(10);
        place = nextFree(place);
      }
      const chat = Math.floor(random() * CHATS) + CHATS * Math.floor(index / CHATS_CHANGE_AFTER);
      freeMac(place)?.say(chat, index);
      written++;
      tell();
      await pause();
    }
  }

  async function crmWrites(): Promise<void> {
    const underWay = new Set<Promise<Sent>>();
    const patience = { random, giveUp: () => performance.now() > lateAt };
    for (let index = 0; !isLast(index); index++) {
      const { locationId } = placeOf(index);
      while (!isDue(index, 'outbound') || isBehind() || underWay.size > MOST_UNDER_WAY) await sleep(10);
      const task = sendUntilTaken(cluster, locationId, `out ${index}`, `m-${seed}-${index}`, patience);
      written++;
      tell();
      underWay.add(task);
      sent.push(task.finally(() => underWay.delete(task)));
      await pause();
    }
  }

  async function makeTrouble(): Promise<void> {
    while (begun < trouble.steps) {
      begun++;
      await trouble.step();
      over++;
      tell();
    }
  }

  async function makeAllTrouble(): Promise<void> {
    await Promise.all(Array.from({ length: trouble.atOnce }, () => makeTrouble()));
    await trouble.heal?.();
    lateAt = performance.now() + QUIET_MS;
  }

  /** The end is put off as long as the CRM gets something. */
  async function watchProgress(): Promise<void> {
    let known = 0;
    while (!finished.signal.aborted) {
      const now = crm.messages.length + crm.statuses.length;
      if (now > known && lateAt < Infinity) lateAt = performance.now() + QUIET_MS;
      known = now;
      await sleep(500);
    }
  }

  /** The frames of the last webhooks may still be on their sockets. A lost one never arrives, so the wait is bounded. */
  async function receiveFrames(all: readonly Sent[]): Promise<void> {
    const end = performance.now() + ARRIVAL_MS;
    const scripted = new Set(macs.map(({ locationId }) => locationId));
    const awaited = all.filter(({ locationId }) => scripted.has(locationId));
    const isMissing = () => {
      const received = new Set(macs.flatMap(({ heard }) => heard.map(({ requestId }) => requestId)));
      return awaited.some(({ attempts }) => !received.has(attempts.at(-1)?.requestId ?? ''));
    };
    while (performance.now() < end && isMissing()) await sleep(50);
  }

  /** The agents send what is in their queues and report it. */
  async function emptyAgents(all: readonly Sent[]): Promise<void> {
    const isOpen = ({ messageId }: Sent) => ['pending', undefined].includes(crm.accepted(messageId).at(-1));
    const isBusy = (agent: AgentMac) => {
      if (agent.unacknowledged > 0) return true;
      const open = all.filter((message) => message.locationId === agent.locationId && isOpen(message));
      if (open.length === 0) return false;
      const ledger = { bindings: agent.bindings(), received: agent.received() };
      return !open.every((message) => isForgottenByAgent(message, ledger));
    };
    while (agents.some(isBusy) && performance.now() < lateAt) await sleep(1000);
  }

  /** A displaced Mac that still has something to tell comes back once the other one has nothing left. */
  async function emptyOutboxes(): Promise<void> {
    let recallAt = 0;
    while (macs.some(({ unacknowledged }) => unacknowledged > 0) && performance.now() < lateAt) {
      await sleep(200);
      if (performance.now() < recallAt) continue;
      recallAt = performance.now() + RECALL_MS;
      for (const here of locations)
        if (here.every(({ wanted, unacknowledged }) => !wanted || unacknowledged === 0))
          for (const mac of here) if (mac.unacknowledged > 0) mac.wanted = true;
    }
  }

  const watched = watchProgress();
  begunAt = performance.now();
  await Promise.all([peopleWrite(), crmWrites(), makeAllTrouble()]);
  const all = await Promise.all(sent);
  await receiveFrames(all);
  await Promise.all([emptyOutboxes(), emptyAgents(all)]);
  finished.abort();
  await watched;
  for (const mac of [...macs, ...agents]) mac.stop();
  await Promise.all(lives);
  const agentLedgers = await Promise.all(
    agents.map(async (agent) => ({
      locationId: agent.locationId,
      said: agent.said,
      bindings: agent.bindings(),
      received: agent.received(),
      interrupted: agent.interrupted(),
      sentTexts: await agent.sentTexts(),
    })),
  );
  const score = judge({ crm, macs, agents: agentLedgers, sent: all, startedAt });
  return { ...score, bugs: await cluster.bugs(), sent: all };
}
