/** How long a fault of this kind lasts; a quarter of those with `longMs` last that long instead. */
interface FaultKindTraits {
  readonly ms: readonly [least: number, most: number];
  readonly longMs?: readonly [least: number, most: number];
  /** Needs a location whose Mac is the real agent program. */
  readonly needsAgent?: true;
}

const AT_ONCE = [0, 0] as const;
/** Some longer than a lease lasts. */
const LEASE_MS = [9000, 13_000] as const;

/** Everything that the campaign breaks. The name is what the reports show. */
export const FAULT_KINDS = {
  'node killed': { ms: [0, 1000] },
  'node frozen': { ms: [500, 4000], longMs: LEASE_MS },
  'node clock stepped by 90 s': { ms: [1000, 6000] },
  'node cut off from Redis': { ms: [500, 4000], longMs: LEASE_MS },
  'node deaf to Redis': { ms: [500, 5000] },
  'Redis replies delayed': { ms: [1000, 5000] },
  'Redis sockets cut': { ms: AT_ONCE },
  'Redis flushed': { ms: AT_ONCE },
  'Redis restarted': { ms: AT_ONCE },
  'Redis frozen': { ms: [300, 2500] },
  'Redis failed over': { ms: [0, 1500] },
  'Redis primary made a replica': { ms: [0, 1500] },
  'Redis switched by a sentinel': { ms: [0, 1500] },
  'Redis full': { ms: [500, 4000] },
  'PostgreSQL sockets cut': { ms: AT_ONCE },
  'PostgreSQL restarted': { ms: AT_ONCE },
  'PostgreSQL killed': { ms: [0, 2000] },
  'PostgreSQL slow': { ms: [1000, 5000] },
  'PostgreSQL disk full': { ms: [500, 4000] },
  'node cut off from PostgreSQL': { ms: [500, 4000] },
  'status response lost': { ms: [0, 1000] },
  'inbound response lost': { ms: [0, 1000] },
  'contact search response lost': { ms: [0, 1000] },
  'contact upsert response lost': { ms: [0, 1000] },
  'conversation read response lost': { ms: [0, 1000] },
  'token request lost': { ms: [0, 1000] },
  'token response lost': { ms: [0, 1000] },
  'CRM overloaded': { ms: [500, 3000] },
  'CRM slow': { ms: [500, 3000] },
  'Mac dropped': { ms: AT_ONCE },
  'Mac displaced': { ms: AT_ONCE },
  'Mac repeats everything': { ms: AT_ONCE },
  'Mac links black-holed': { ms: [1000, 6000] },
  'Mac links slow': { ms: [1000, 5000] },
  'agent killed': { ms: [0, 1000], needsAgent: true },
  'agent frozen': { ms: [500, 4000], needsAgent: true },
  'agent journal locked': { ms: [500, 4000], needsAgent: true },
  'agent disk full': { ms: [500, 3000], needsAgent: true },
} as const satisfies Record<string, FaultKindTraits>;

export type FaultKind = keyof typeof FAULT_KINDS;

export const KILL: FaultKind = 'node killed';

const isFaultKind = (name: string): name is FaultKind => Object.hasOwn(FAULT_KINDS, name);

/** The kinds that a campaign can inject, with or without locations of the real agent. */
export const faultKinds = ({ agents }: { readonly agents: number }): FaultKind[] =>
  Object.keys(FAULT_KINDS)
    .filter(isFaultKind)
    .filter((kind) => agents > 0 || !('needsAgent' in FAULT_KINDS[kind]));
