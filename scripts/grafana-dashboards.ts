// The dashboards in deploy/grafana as a compact table. `npm run check -- --write` generates their JSON.

export interface Query {
  readonly expr: string;
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  readonly about: string;
  readonly type?: 'timeseries' | 'stat';
  /** A unit of Grafana: `s`, `bytes`, `reqps`, `percentunit`, `short`. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** The panel has no data unless something fails. */
  readonly emptyWithoutFaults?: true;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const NODES = 'instance=~"$instance"';
const of = (metric: string, more = ''): string => `${metric}{${[NODES, more].filter(Boolean).join(', ')}}`;
const rate = (metric: string, more = ''): string => `rate(${of(metric, more)}[$__rate_interval])`;
const rateBy = (label: string, metric: string, more = ''): Query => ({
  expr: `sum by (${label}) (${rate(metric, more)})`,
  legend: `{{${label}}}`,
});
const quantiles = (metric: string, by = ''): Query[] =>
  ['0.5', '0.99'].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le${by && `, ${by}`}) (${rate(`${metric}_bucket`)}))`,
    legend: `p${Number(quantile) * 100}${by && ` {{${by}}}`}`,
  }));
const perNode = (expr: string): Query => ({ expr, legend: '{{instance}}' });

const DELIVERED = 'status="delivered", result="ok"';
const FINAL = 'status=~"delivered|failed", result="ok"';

export const DASHBOARDS: Readonly<Record<string, Dashboard>> = {
  overview: {
    uid: 'footbridge-overview',
    title: 'Footbridge: overview',
    panels: [
      {
        title: 'Macs connected',
        about: 'Macs bound to a location, over all nodes.',
        type: 'stat',
        unit: 'short',
        queries: [{ expr: `sum(${of('footbridge_macs_bound')})`, legend: 'Macs' }],
      },
      {
        title: 'Delivered',
        about: 'Share of delivered messages among the final statuses.',
        type: 'stat',
        unit: 'percentunit',
        queries: [
          {
            expr: `sum(${rate('footbridge_status_put_total', DELIVERED)}) / sum(${rate('footbridge_status_put_total', FINAL)})`,
            legend: 'delivered',
          },
        ],
      },
      {
        title: 'Open issues',
        about: 'Problems that the service has detected. Run footbridge issues.',
        type: 'stat',
        unit: 'short',
        queries: [
          { expr: `sum(max by (kind) (${of('footbridge_issues_open')})) or vector(0)`, legend: 'issues' },
        ],
      },
      {
        title: 'Stuck messages',
        about: 'Written to a Mac more than 10 minutes ago, without a result.',
        type: 'stat',
        unit: 'short',
        queries: [{ expr: `max(${of('footbridge_stuck_pending')})`, legend: 'messages' }],
      },
      {
        title: 'Webhooks by response',
        about: 'Responses to the CRM per second.',
        unit: 'reqps',
        queries: [rateBy('status', 'footbridge_webhook_requests_total')],
      },
      {
        title: 'Rejected webhooks by code',
        about: 'Run footbridge explain CODE for the cause and the remedy.',
        unit: 'reqps',
        queries: [rateBy('code', 'footbridge_webhook_requests_total', 'code!=""')],
        emptyWithoutFaults: true,
      },
      {
        title: 'Statuses to the CRM',
        about: 'Accepted statuses per second.',
        unit: 'reqps',
        queries: [rateBy('status', 'footbridge_status_put_total', 'result="ok"')],
      },
      {
        title: 'Inbound messages by result',
        about: 'Messages from Macs per second.',
        unit: 'reqps',
        queries: [rateBy('result', 'footbridge_inbound_total')],
      },
      {
        title: 'Webhook duration',
        about: 'From the complete request body to the response.',
        unit: 's',
        queries: quantiles('footbridge_webhook_duration_seconds'),
      },
      {
        title: 'Time to the final status',
        about: 'From the webhook until the CRM has the final status, including the queue on the Mac.',
        unit: 's',
        queries: quantiles('footbridge_status_terminal_seconds'),
      },
    ],
  },
  macs: {
    uid: 'footbridge-macs',
    title: 'Footbridge: tenants and Macs',
    panels: [
      {
        title: 'Lines by state',
        about: 'Whether texts get through: alive, degraded or dead.',
        unit: 'short',
        queries: [{ expr: `max by (state) (${of('footbridge_lines')})`, legend: '{{state}}' }],
      },
      {
        title: 'Open issues by kind',
        about: 'Run footbridge issues.',
        unit: 'short',
        queries: [{ expr: `max by (kind) (${of('footbridge_issues_open')})`, legend: '{{kind}}' }],
        emptyWithoutFaults: true,
      },
      {
        title: 'Macs per node',
        about: 'Macs bound on each node.',
        unit: 'short',
        queries: [perNode(of('footbridge_macs_bound'))],
      },
      {
        title: 'Seats',
        about: 'Activated Macs and the seats of all licenses.',
        unit: 'short',
        queries: [
          { expr: `max(${of('footbridge_seats_used')})`, legend: 'used' },
          { expr: `max(${of('footbridge_seats_max')})`, legend: 'licensed' },
        ],
      },
      {
        title: 'Displacements, contention and lost leases',
        about:
          'Displacements and contention: two Macs for one location. Lost leases: Redis problems or a paused node.',
        unit: 'reqps',
        queries: [
          { expr: `sum(${rate('footbridge_displacements_total')})`, legend: 'displaced' },
          { expr: `sum(${rate('footbridge_contentions_total')})`, legend: 'had to wait' },
          { expr: `sum(${rate('footbridge_lease_lost_total')})`, legend: 'lease lost' },
          { expr: `sum(${rate('footbridge_device_take_overs_total')})`, legend: 'other address' },
        ],
      },
      {
        title: 'Messages without confirmation',
        about: 'Written again after a reconnect, copied to other nodes, or given up.',
        unit: 'reqps',
        queries: [
          { expr: `sum(${rate('footbridge_mac_sends_repeated_total')})`, legend: 'written again' },
          { expr: `sum(${rate('footbridge_mac_sends_copied_total')})`, legend: 'copied' },
          rateBy('reason', 'footbridge_mac_sends_not_confirmed_total'),
        ],
      },
      {
        title: 'Largest unsent buffer',
        about: 'Bytes waiting to be sent to one Mac.',
        unit: 'bytes',
        queries: [perNode(of('footbridge_mac_buffer_bytes_max'))],
      },
      {
        title: 'Ignored frames',
        about: 'Frames from Macs that the service ignores, by reason.',
        unit: 'reqps',
        queries: [rateBy('reason', 'footbridge_mac_frames_ignored_total')],
      },
      {
        title: 'Time to the Mac',
        about: 'Until a message is written to the socket of its Mac, on this node or another.',
        unit: 's',
        queries: quantiles('footbridge_route_hop_seconds'),
      },
      {
        title: 'Alert notifications',
        about: 'Attempts to send an alert, by result.',
        unit: 'reqps',
        queries: [rateBy('result', 'footbridge_alerts_total')],
      },
    ],
  },
  crm: {
    uid: 'footbridge-crm',
    title: 'Footbridge: CRM',
    panels: [
      {
        title: 'Calls by operation',
        about: 'Calls to the CRM per second.',
        unit: 'reqps',
        queries: [rateBy('operation', 'footbridge_crm_request_seconds_count')],
      },
      {
        title: 'Failed calls',
        about: '401: token problems. 429: rate limit of the CRM. Others: the CRM or the network path to it.',
        unit: 'reqps',
        queries: [rateBy('status', 'footbridge_crm_request_seconds_count', 'status!~"2.."')],
        emptyWithoutFaults: true,
      },
      {
        title: 'Call duration',
        about: 'By operation.',
        unit: 's',
        queries: quantiles('footbridge_crm_request_seconds', 'operation'),
      },
      {
        title: 'Statuses that the CRM did not accept',
        about: 'footbridge show prints the response of the CRM.',
        unit: 'reqps',
        queries: [rateBy('result', 'footbridge_status_put_total', 'result!="ok"')],
      },
      {
        title: 'Open circuits',
        about: 'Locations whose calls failed 20 times in a row.',
        unit: 'short',
        queries: [perNode(of('footbridge_crm_circuit_open'))],
      },
      {
        title: 'Oldest inbound message',
        about: 'Age of the oldest message that the CRM has not accepted.',
        unit: 's',
        queries: [perNode(of('footbridge_inbound_oldest_unacked_seconds'))],
      },
      {
        title: 'Lost responses',
        about: 'Conversations read after a lost response, by whether they contain the message.',
        unit: 'reqps',
        queries: [
          rateBy('result', 'footbridge_inbound_lookups_total'),
          { expr: `sum(${rate('footbridge_inbound_uncertain_total')})`, legend: 'uncertain' },
        ],
      },
      {
        title: 'Set aside',
        about: 'Messages and files that ended the service or an agent twice. Should be empty.',
        unit: 'reqps',
        queries: [rateBy('kind', 'footbridge_set_aside_total')],
      },
      {
        title: 'Token refreshes',
        about: 'dead: the app must be installed again for the location.',
        unit: 'reqps',
        queries: [rateBy('result', 'footbridge_oauth_refresh_total')],
      },
      {
        title: 'Rejected signatures',
        about: 'footbridge keys test names the failing step.',
        unit: 'reqps',
        queries: [rateBy('reason', 'footbridge_signature_failures_total')],
      },
      {
        title: 'Deduplicated repeats',
        about: 'Many repeated webhooks or messages mean that the CRM retries.',
        unit: 'reqps',
        queries: [rateBy('kind', 'footbridge_dedupe_hits_total')],
      },
    ],
  },
  nodes: {
    uid: 'footbridge-nodes',
    title: 'Footbridge: nodes',
    panels: [
      {
        title: 'Version',
        about: 'More than one version is normal only during a rolling upgrade.',
        type: 'stat',
        unit: 'short',
        queries: [{ expr: `count by (version) (${of('footbridge_build_info')})`, legend: '{{version}}' }],
      },
      {
        title: 'Uptime',
        about: 'Time since the start of each process.',
        type: 'stat',
        unit: 's',
        queries: [perNode(`time() - ${of('process_start_time_seconds')}`)],
      },
      {
        title: 'CPU',
        about: 'The main thread uses at most one core.',
        unit: 'percentunit',
        queries: [perNode(rate('process_cpu_seconds_total'))],
      },
      {
        title: 'Event loop delay (p99)',
        about: 'Above 100 ms, the node is overloaded.',
        unit: 's',
        queries: [perNode(of('nodejs_eventloop_lag_p99_seconds'))],
      },
      {
        title: 'Memory',
        about: 'Memory of each process, and the used JavaScript heap.',
        unit: 'bytes',
        queries: [
          perNode(of('process_resident_memory_bytes')),
          { expr: of('nodejs_heap_size_used_bytes'), legend: '{{instance}} heap' },
        ],
      },
      {
        title: 'Garbage collection',
        about: 'Share of time spent in garbage collection.',
        unit: 'percentunit',
        queries: [rateBy('kind', 'nodejs_gc_duration_seconds_sum')],
      },
      {
        title: 'File descriptors',
        about: 'Share of the limit of each process.',
        unit: 'percentunit',
        queries: [perNode(`${of('process_open_fds')} / ${of('process_max_fds')}`)],
      },
      {
        title: 'Rate limits',
        about: 'Requests over a limit, by the name of the limit.',
        unit: 'reqps',
        queries: [rateBy('bucket', 'footbridge_rate_limited_total')],
        emptyWithoutFaults: true,
      },
      {
        title: 'Removed paths',
        about: 'Requests to removed paths. Their callers must switch to POST /crm/webhook.',
        unit: 'reqps',
        queries: [rateBy('path', 'footbridge_deprecated_requests_total')],
      },
    ],
  },
};

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const WIDTH = 12;
const HEIGHT = 8;

/** Returns a function for each `deploy/grafana/NAME.json` that returns its text. */
export const dashboardFiles = (): Record<string, () => string> =>
  Object.fromEntries(
    Object.entries(DASHBOARDS).map(([name, dashboard]) => [
      `deploy/grafana/${name}.json`,
      () => `${JSON.stringify(render(dashboard), null, 2)}\n`,
    ]),
  );

const render = ({ uid, title, panels }: Dashboard): object => ({
  uid,
  title,
  tags: ['footbridge'],
  schemaVersion: 39,
  editable: true,
  time: { from: 'now-6h', to: 'now' },
  refresh: '30s',
  templating: {
    list: [
      { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
      {
        name: 'instance',
        label: 'Node',
        type: 'query',
        datasource: DATASOURCE,
        query: 'label_values(footbridge_build_info, instance)',
        refresh: 2,
        includeAll: true,
        allValue: '.*',
        multi: true,
        current: { text: 'All', value: '$__all' },
      },
    ],
  },
  panels: panels.map(renderPanel),
});

const renderPanel = ({ title, about, type = 'timeseries', unit, queries }: Panel, index: number): object => ({
  id: index + 1,
  title,
  description: about,
  type,
  datasource: DATASOURCE,
  gridPos: { x: (index % 2) * WIDTH, y: Math.floor(index / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: queries.map(({ expr, legend }, position) => ({
    refId: String.fromCodePoint(65 + position),
    datasource: DATASOURCE,
    expr,
    legendFormat: legend,
  })),
});
