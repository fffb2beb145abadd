import type { Call, ResponseOf } from '@footbridge/protocol/operator/call';
import type { exportPerson } from '@footbridge/protocol/operator/people';
import type { Clock } from '@footbridge/runtime/clock';
import type { Failpoint } from '@footbridge/runtime/failpoints';
import type { Lifecycle } from '@footbridge/runtime/lifecycle';
import type { Log } from '@footbridge/runtime/log';
import type { FastifyInstance } from 'fastify';

import type { PlaceListener } from './extension-points.ts';
import type { Broadcast } from './changes/broadcast.ts';
import type { Changes } from './changes/changes.ts';
import type { Check } from './findings.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { AuditDetail, Audit } from './operator/audit-sql.ts';
import { serveCall } from './operator/serve-call.ts';
import type { Called } from './operator/serve-call.ts';
import type { Limits } from './limits/limits.ts';
import type { Database, OpenDatabase } from './sql/open-database.ts';
import { pruneHourly } from './prune-hourly.ts';
import type { Prune } from './prune-hourly.ts';

export type Routes = (app: FastifyInstance) => void;
export type Stop = () => void | Promise<void>;
/** What is stopped last gets this long. */
export const LAST_STOPS_MS = 1000;

/** One person: the handles under which they may be recorded, in some locations or, if undefined, in all. */
export interface Person {
  readonly handles: readonly string[];
  readonly locationIds: readonly string[] | undefined;
}

type Export = Required<ResponseOf<typeof exportPerson>>;
/** The sections of an export about a person, besides the messages. */
export type Section = Exclude<keyof Export, 'messages' | 'cursor'>;

/** What a part keeps about people, so that it is exported and erased with everything else. */
export interface Keeper<S extends Section = Section> {
  /** The section of the export. Undefined: there is nothing that outlives the memory of this node. */
  readonly section?: S;
  read?(person: Person): Promise<Export[S]>;
  erase?(person: Person): Promise<void>;
  /** Forgets what this node has in memory about the people of a location, or of all. */
  forget?(locationId: string | undefined): void;
}

/** What every room and feature gets, and where it registers. There is no other kind of contribution. */
export interface Host {
  readonly db: Database;
  readonly database: OpenDatabase;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** The id of this process; every start has a new one. */
  readonly node: string;
  readonly changes: Changes;
  readonly broadcast: Broadcast;
  readonly limits: Limits;
  readonly auditLog: Audit;
  /** For tests that end the process at a certain place. */
  readonly failpoint: Failpoint | undefined;
  /** For tests that shuffle the listeners of an occurrence. */
  readonly placeListener: PlaceListener | undefined;
  /** Resolves with whether expired data may be deleted: not while the clock is wrong. */
  readonly mayDelete: () => Promise<boolean>;
  /** No other node shares the database. */
  readonly isSingleNode: boolean;
  /** The address of the service for the world. Known once it listens. */
  readonly publicUrl: () => string;

  /** Serves a call of the operator API. */
  serve<const C extends Call>(definition: C, handle: (called: Called<C>) => Promise<ResponseOf<C>>): void;
  /** Adds to the audit log what the operator of a call does. */
  audit(
    called: Pick<Called<Call>, 'request'>,
    action: string,
    target: string,
    detail?: AuditDetail,
  ): Promise<void>;
  /** Serves routes to signed-in operators. */
  operatorRoutes(...routes: readonly Routes[]): void;
  /** Serves pages of the operator listener that need no sign-in: they contain no data of the service. */
  pages(...routes: readonly Routes[]): void;
  /** Serves routes to the world. */
  publicRoutes(...routes: readonly Routes[]): void;
  /** Registers how to stop what was just started. The newest is stopped first. */
  stops(name: string, stop: Stop): void;
  /** The same for what observes the relay: it is stopped after the last message, and has `LAST_STOPS_MS`. */
  stopsLast(name: string, stop: Stop): void;
  /** Starts what watches the relay, once the service listens. It is stopped before the Macs are disconnected: a stopping node must not report them as offline. */
  watches(name: string, start: () => Stop): void;
  /** Adds what to look at for issues. */
  finds(check: Check): void;
  checks(): readonly Check[];
  /** Deletes expired data every hour, while the clock is right. A failure is logged as `event`. */
  expires(event: string, prune: () => Promise<unknown>): void;
  keepsAboutPeople<S extends Section>(keeper: Keeper<S>): void;
  keepers(): readonly Keeper[];
}

/** A part beside the relay. It registers with the host, fills slots of the relay, and listens to what happens there. */
export interface Feature<Relay, Settings> {
  readonly name: string;
  start(host: Host, relay: Relay, settings: Settings): void | Promise<void>;
}

/** What has registered with a host. */
export interface Registered {
  readonly operatorRoutes: readonly Routes[];
  readonly pages: readonly Routes[];
  readonly publicRoutes: readonly Routes[];
  /** Starts what watches the relay. */
  startWatches(): void;
}

export interface HostDeps extends Omit<
  Host,
  | 'serve'
  | 'audit'
  | 'operatorRoutes'
  | 'pages'
  | 'publicRoutes'
  | 'stops'
  | 'stopsLast'
  | 'expires'
  | 'watches'
  | 'finds'
  | 'checks'
  | 'keepsAboutPeople'
  | 'keepers'
> {
  readonly life: Pick<Lifecycle, 'add' | 'part'>;
}

export function createHost({ life, ...given }: HostDeps): Host & { readonly registered: Registered } {
  const { auditLog } = given;
  const operatorRoutes: Routes[] = [];
  const pages: Routes[] = [];
  const publicRoutes: Routes[] = [];
  const keepers: Keeper[] = [];
  const checks: Check[] = [];
  const prunes: Prune[] = [];
  const watches: (readonly [name: string, start: () => Stop])[] = [];
  const observers = life.part('observers');
  return {
    ...given,
    registered: {
      operatorRoutes,
      pages,
      publicRoutes,
      startWatches() {
        life.add('pruning', pruneHourly(given, prunes));
        for (const [name, start] of watches) life.add(name, start());
      },
    },
    serve: (definition, handle) => void operatorRoutes.push((app) => serveCall(app, definition, handle)),
    audit: ({ request }, action, target, detail) =>
      auditLog.record({
        actor: 'operator',
        name: request.operator.label,
        action,
        target,
        ...(detail !== undefined && { detail }),
      }),
    operatorRoutes: (...routes) => void operatorRoutes.push(...routes),
    pages: (...routes) => void pages.push(...routes),
    publicRoutes: (...routes) => void publicRoutes.push(...routes),
    stops: (name, stop) => life.add(name, stop),
    stopsLast: (name, stop) => observers.add(name, stop),
    expires: (event, prune) => void prunes.push({ event, prune }),
    watches: (...watch) => void watches.push(watch),
    finds: (check) => void checks.push(check),
    checks: () => checks,
    keepsAboutPeople: (keeper) => void keepers.push(keeper),
    keepers: () => keepers,
  };
}
