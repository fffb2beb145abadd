import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

export const ALERTS_FILE = join(import.meta.dirname, '../../deploy/prometheus/alerts.yml');

const file = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: AlertRule[] }[] };

/** The rules of deploy/prometheus/alerts.yml. */
export const ALERTS: readonly AlertRule[] = file.groups.flatMap(({ rules }) => rules);
