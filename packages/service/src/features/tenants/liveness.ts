import type { Liveness } from '../../relay/accounts/liveness.ts';
import type { Problem } from './tenant-path.ts';

/** The links between the service and the people who are texted. */
const LINE = new Set<string>(['mac', 'messages', 'permissions', 'queue', 'traffic']);

/** Derives the liveness of a line from its broken links. Null: it never had a Mac. */
export function livenessOf(broken: readonly Problem[]): Liveness | null {
  const ofLine = broken.filter(({ link }) => LINE.has(link));
  const problems = ofLine.flatMap(({ kind, ...rest }) => (kind === null ? [] : [{ kind, ...rest }]));
  if (problems.length < ofLine.length) return null;
  const reason = problems.find(({ isDead }) => isDead) ?? problems[0];
  if (reason === undefined) return { state: 'alive', reason: null };
  const { kind, sentence, since, isDead } = reason;
  return { state: isDead ? 'dead' : 'degraded', reason: { kind, sentence, since } };
}
