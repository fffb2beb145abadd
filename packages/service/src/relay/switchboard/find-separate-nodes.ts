import type { Finding } from '../../platform/findings.ts';
import type { Separation } from './watch-nodes.ts';

const CAUSES = {
  secret: [
    'have different values of NODE_SECRET',
    'Set NODE_SECRET to the same value on all nodes, or on none, and restart them.',
  ],
  redis: ['use different Redis servers', 'Set REDIS_URL to the same Redis on all nodes, and restart them.'],
  version: [
    'run different versions with different names in Redis',
    'Stop all nodes at the same time, and start them with the same version.',
  ],
} as const;

/** In the same words on all nodes, which share the issue. */
export function separateNodes(separations: ReadonlySet<Separation>): Finding[] {
  const causes = (['secret', 'redis', 'version'] as const).filter((cause) => separations.has(cause));
  if (causes.length === 0) return [];
  const because = causes.map((cause) => CAUSES[cause][0]).join(', or ');
  return [
    {
      kind: 'nodes_separate',
      subject: '',
      locationIds: null,
      sentence: `Nodes of this database ${because}: each takes the Macs of the others for not connected, so that webhooks fail.`,
      action: `${causes.map((cause) => CAUSES[cause][1]).join(' ')} The log event \`cluster.node_separate\` names the hosts.`,
      since: null,
    },
  ];
}
