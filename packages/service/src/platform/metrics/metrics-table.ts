/** One metric of `/metrics`. The registry, docs/metrics.md and the checks of dashboards and alerts use the table below. */
export interface MetricEntry {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly meaning: string;
  /**
   * Each label with its values, or with a description of them. Their number must not grow with tenants, Macs or messages. When all values
   * are listed, every series exists from the start with the value 0, so that `increase` sees the first event.
   */
  readonly labels?: Readonly<Record<string, string | readonly string[]>>;
  /** What to do when the value is unusual; for a normal figure, how to read it. */
  readonly action: string;
  /** The upper bounds of the buckets of a histogram, in seconds. */
  readonly buckets?: readonly number[];
}

/** For work that takes milliseconds. */
const SHORT_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** For work that includes a queue on a Mac. */
const LONG_SEC = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];

/** The metrics of the service. */
export const METRICS = {
  footbridge_build_info: {
    type: 'gauge',
    meaning: 'Always 1. The version is the label.',
    labels: { version: 'the version of the service' },
    action: 'Several versions at once are normal only during a rolling upgrade.',
  },
  footbridge_webhook_requests_total: {
    type: 'counter',
    meaning: 'Responses to webhooks.',
    labels: {
      path: 'one of the three webhook paths',
      status: 'the HTTP status',
      code: 'a code of the error catalogue; empty for success',
    },
    action: '`footbridge explain CODE` names the cause and the remedy of a code.',
  },
  footbridge_webhook_duration_seconds: {
    type: 'histogram',
    meaning: 'Time from the complete request body to the response.',
    buckets: SHORT_SEC,
    action:
      'Compare with `nodejs_eventloop_lag_p99_seconds` and `footbridge_route_hop_seconds`: the node is overloaded, or another node or Redis is slow.',
  },
  footbridge_signature_failures_total: {
    type: 'counter',
    meaning: 'Webhooks rejected because of their signature.',
    labels: { reason: ['header', 'base64', 'length', 'location', 'key'] },
    action: '`footbridge keys test` with a captured body and signature names the failing step.',
  },
  footbridge_deprecated_requests_total: {
    type: 'counter',
    meaning: 'Requests to paths that were removed.',
    labels: { path: ['/send-message', '/crm/send-message'] },
    action: 'Change the caller to use `POST /crm/webhook`.',
  },
  footbridge_rate_limited_total: {
    type: 'counter',
    meaning: 'Requests rejected by a rate limit.',
    labels: { bucket: 'the name of the limit, such as `webhook`, `enrolment` or `mac-socket`' },
    action: 'A caller sends too fast, or a configured limit is too low for it.',
  },
  footbridge_dedupe_hits_total: {
    type: 'counter',
    meaning:
      'Repeats that were recognised and not delivered twice: a `webhook` with the same bytes and without a messageId, an `event` of the CRM with the same bytes, another request for a `message`, an `inbound` message that the CRM already has.',
    labels: { kind: ['webhook', 'event', 'message', 'inbound'] },
    action: 'Many of kind `message` or `webhook`: the CRM retries, so its requests time out or get 5xx.',
  },
  footbridge_route_hop_seconds: {
    type: 'histogram',
    meaning:
      'Time from the last check of a webhook until its frame is written to the socket of the Mac, on this node or another.',
    buckets: SHORT_SEC,
    action:
      'Over several nodes it includes two messages over Redis: check the latency of Redis and the load of the other nodes.',
  },
  footbridge_macs_bound: {
    type: 'gauge',
    meaning: 'Macs bound on this node.',
    action: 'Too low: `footbridge location list` shows which Macs are offline.',
  },
  footbridge_displacements_total: {
    type: 'counter',
    meaning: 'Macs displaced by another Mac.',
    action: 'Two Macs have the same location: `footbridge location list`.',
  },
  footbridge_contentions_total: {
    type: 'counter',
    meaning: 'Binds delayed because several Macs claim one location.',
    action: 'Two Macs have the same location: `footbridge location list`.',
  },
  footbridge_lease_lost_total: {
    type: 'counter',
    meaning: 'Macs disconnected because this node could not confirm that it holds their location.',
    action: 'Redis is unavailable to this node, or the node was paused for seconds.',
  },
  footbridge_device_take_overs_total: {
    type: 'counter',
    meaning: 'Connections of a device from a different address than before.',
    action: 'A Mac moved, or its token was copied: look for `device.two_addresses` in the log.',
  },
  footbridge_mac_buffer_bytes_max: {
    type: 'gauge',
    meaning: 'The largest number of unsent bytes of one Mac on this node.',
    action: 'A Mac does not read. It is disconnected after 10 seconds without progress.',
  },
  footbridge_mac_frames_ignored_total: {
    type: 'counter',
    meaning: 'Frames from Macs that were ignored.',
    labels: { reason: ['unknown_type', 'invalid_state'] },
    action: 'An agent is newer than the service, or a different program.',
  },
  footbridge_mac_sends_repeated_total: {
    type: 'counter',
    meaning: 'Messages written again to a Mac that had not confirmed them.',
    action: 'The network between the Macs and the service is unstable.',
  },
  footbridge_mac_sends_copied_total: {
    type: 'counter',
    meaning: 'Messages copied to the other nodes because their Mac did not confirm them in time.',
    action: 'Grows very little in normal operation. Macs are slow to confirm, or their network is.',
  },
  footbridge_mac_sends_not_confirmed_total: {
    type: 'counter',
    meaning: 'Messages given up before their Mac confirmed them.',
    labels: { reason: ['expired', 'full', 'moved', 'shutdown'] },
    action:
      'The steps of the message (`footbridge show`) include `not_confirmed`. Check the Mac and its network.',
  },
  footbridge_inbound_total: {
    type: 'counter',
    meaning: 'Inbound messages by result.',
    labels: { result: ['delivered', 'repeated', 'rejected', 'retry'] },
    action: '`rejected` messages are parked on the Mac: `footbridge tail --since 1d --dir in --no-follow`.',
  },
  footbridge_inbound_lookups_total: {
    type: 'counter',
    meaning: 'Conversations read after a lost response, by whether they contained the message.',
    labels: { result: ['found', 'absent', 'unknown'] },
    action: 'Responses of the CRM are lost: compare with `footbridge_crm_request_seconds` by status.',
  },
  footbridge_inbound_uncertain_total: {
    type: 'counter',
    meaning: 'Inbound messages that the CRM may have, but whose conversation could not be read.',
    action:
      'A scope is missing, or the CRM cannot be read: the log event `inbound.uncertain` has the reason.',
  },
  footbridge_set_aside_total: {
    type: 'counter',
    meaning:
      'Messages and files that were not handled because the service or an agent ended twice while it worked on them.',
    labels: { kind: ['outbound', 'inbound', 'file'] },
    action: '`footbridge issues` names the locations; update the service and the agent.',
  },
  footbridge_inbound_oldest_unacked_seconds: {
    type: 'gauge',
    meaning:
      'Age of the oldest inbound message that this node has not acknowledged to its Mac; 0 when there is none.',
    action: 'The CRM does not accept messages, or a location has no token: `footbridge issues`.',
  },
  footbridge_status_put_total: {
    type: 'counter',
    meaning: 'Statuses sent to the CRM.',
    labels: {
      status: ['pending', 'delivered', 'failed'],
      result: ['ok', 'refused', 'given_up', 'unwanted', 'unknown_message'],
    },
    action: '`refused` and `given_up`: `footbridge show` prints the response of the CRM.',
  },
  footbridge_status_terminal_seconds: {
    type: 'histogram',
    meaning: 'Time from a webhook until the CRM has accepted its final status from the Mac.',
    buckets: LONG_SEC,
    action:
      'Includes the time in the queue of the Mac. Compare with `footbridge_crm_request_seconds` and the queues in `footbridge location show`.',
  },
  footbridge_stuck_pending: {
    type: 'gauge',
    meaning:
      'Messages of the last day, of all nodes, that were written to a Mac more than 10 minutes ago and have no result.',
    action:
      'A Mac is offline or its queue does not move: `footbridge issues`, then `footbridge location show LOCATION`.',
  },
  footbridge_crm_request_seconds: {
    type: 'histogram',
    meaning: 'Duration of calls to the CRM.',
    labels: {
      operation: 'such as `status`, `inbound` or `find_contact`',
      status: 'the HTTP status, or `timeout`, `network` or `answer_too_large`',
    },
    buckets: SHORT_SEC,
    action: '401: tokens. 429: rate limit of the CRM. 5xx, `timeout` and `network`: the CRM or the network.',
  },
  footbridge_crm_circuit_open: {
    type: 'gauge',
    meaning:
      'Locations whose calls to the CRM failed 20 times in a row. Only one trial call at a time is made for them.',
    action: 'The CRM is down, or rejects a location: `footbridge_crm_request_seconds` by status.',
  },
  footbridge_oauth_refresh_total: {
    type: 'counter',
    meaning: 'Token refreshes by result.',
    labels: { result: ['ok', 'kept', 'dead', 'unsaved'] },
    action:
      '`kept`: not refreshed, the old token is still valid. `dead`: the CRM no longer accepts the grant, and the location has to install the app again. `unsaved`: refreshed but not stored, because the database is unavailable.',
  },
  footbridge_seats_used: {
    type: 'gauge',
    meaning: 'Seats taken by activated Macs, over all licenses.',
    action: 'Compare with `footbridge_seats_max`.',
  },
  footbridge_seats_max: {
    type: 'gauge',
    meaning: 'Seats of all licenses.',
    action: '`footbridge license list` shows the licenses without a free seat.',
  },
  footbridge_issues_open: {
    type: 'gauge',
    meaning: 'Open issues of all nodes.',
    labels: { kind: 'a kind of [issue](operate.md#issues)' },
    action: '`footbridge issues` says what to do about each.',
  },
  footbridge_lines: {
    type: 'gauge',
    meaning: 'Lines of all nodes by whether texts get through.',
    labels: { state: ['alive', 'degraded', 'dead'] },
    action: '`footbridge issues` and the tenants page of the console show the reasons.',
  },
  footbridge_alerts_total: {
    type: 'counter',
    meaning: 'Attempts to send an alert.',
    labels: {
      receiver: ['slack', 'teams', 'email', 'webhook'],
      result: ['sent', 'failed', 'given_up'],
    },
    action: '`footbridge alerts list` shows the last error of each receiver.',
  },
} as const satisfies Readonly<Record<string, MetricEntry>>;

/** The metrics of the Node process that dashboards and alerts use. The library exposes more. */
export const PROCESS_METRICS = {
  process_start_time_seconds: {
    type: 'gauge',
    meaning: 'When the process started.',
    action: 'Frequent changes are restarts: check the exit code and the last log lines.',
  },
  process_cpu_seconds_total: {
    type: 'counter',
    meaning: 'CPU time of the process.',
    action: 'The main thread uses at most one core. Add a node before it is full.',
  },
  process_resident_memory_bytes: {
    type: 'gauge',
    meaning: 'Memory of the process.',
    action: 'Grows with the number of Macs. Steady growth at constant load is a bug.',
  },
  process_open_fds: {
    type: 'gauge',
    meaning: 'Open file descriptors: about one per connected Mac and call.',
    action: 'Raise the limit of the service before `process_max_fds` is reached.',
  },
  process_max_fds: {
    type: 'gauge',
    meaning: 'The limit of open file descriptors.',
    action: 'Set `LimitNOFILE` or `ulimit -n` above the number of Macs.',
  },
  nodejs_heap_size_used_bytes: {
    type: 'gauge',
    meaning: 'Used JavaScript heap.',
    action: 'Steady growth at constant load is a bug.',
  },
  nodejs_eventloop_lag_p99_seconds: {
    type: 'gauge',
    meaning: 'The 99th percentile of the delay of the event loop since the last scrape.',
    action: 'The node is overloaded, or the machine lacks CPU.',
  },
  nodejs_gc_duration_seconds: {
    type: 'histogram',
    meaning: 'Duration of garbage collections.',
    labels: { kind: ['major', 'minor', 'incremental', 'weakcb'] },
    action: 'Long `major` collections: the heap is large or almost full.',
  },
} as const satisfies Readonly<Record<string, MetricEntry>>;
