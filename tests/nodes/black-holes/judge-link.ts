/** A webhook and its response. Times are monotonic. The text of the message is its id. */
export interface Webhook {
  readonly messageId: string;
  /** Undefined when there was no response. */
  readonly status: number | undefined;
  readonly askedAt: number;
  readonly answeredAt: number;
}

export interface LinkScore {
  readonly webhooks: number;
  /** Answered 200. */
  readonly accepted: number;
  /** Answered 503. */
  readonly unavailable: number;
  readonly violations: readonly string[];
}

const REPORTED = 'pending delivered';

/** No Mac is connected, or the service has more requests than it can take: nothing was sent. */
const isRejection = (status: number | undefined) => status === 404 || status === 503;

/** Compares the responses with the texts that the Mac sent, in their order, and with the statuses that the CRM accepted. */
export function judgeLink(
  webhooks: readonly Webhook[],
  sentTexts: readonly string[],
  statusesOf: (messageId: string) => readonly string[],
): LinkScore {
  const times = Map.groupBy(sentTexts, (text) => text);
  const violations: string[] = [];
  const accepted = webhooks.filter(({ status }) => status === 200);
  for (const { messageId, status } of webhooks) {
    const sent = times.get(messageId)?.length ?? 0;
    const statuses = statusesOf(messageId).join(' ');
    if (status === 200 && sent === 0) violations.push(`lost: ${messageId}`);
    if (isRejection(status) && sent > 0) violations.push(`${status}, but sent: ${messageId}`);
    if (sent > 1) violations.push(`sent ${sent} times: ${messageId}`);
    if (status === 200 && statuses !== REPORTED) violations.push(`statuses of ${messageId}: ${statuses}`);
    if (status !== 200 && !isRejection(status)) violations.push(`answered ${status}: ${messageId}`);
  }
  return {
    webhooks: webhooks.length,
    accepted: accepted.length,
    unavailable: webhooks.filter(({ status }) => status === 503).length,
    violations: [...violations, ...outOfOrder(accepted, sentTexts)],
  };
}

/** A webhook that was answered before another was sent comes before it. Those that were under way at the same time have no order. */
function outOfOrder(accepted: readonly Webhook[], sentTexts: readonly string[]): string[] {
  const byId = new Map(accepted.map((webhook) => [webhook.messageId, webhook]));
  let latest = -Infinity;
  return sentTexts.flatMap((text) => {
    const webhook = byId.get(text);
    if (webhook === undefined) return [];
    const isLate = webhook.answeredAt < latest;
    latest = Math.max(latest, webhook.askedAt);
    return isLate ? [`out of order: ${text}`] : [];
  });
}
