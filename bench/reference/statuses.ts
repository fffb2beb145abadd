import { updateStatus } from './crm-client.ts';
import type { StatusError } from './crm-client.ts';
import { logger } from './logger.ts';

/** The pending call of each request, which must complete before the terminal status is sent. */
const pending = new Map<string, Promise<void>>();

export function reportPending(requestId: string, locationId: string, messageId: string): void {
  const sent = updateStatus(locationId, messageId, 'pending').then(
    () => logger.info('status pending sent', { requestId, locationId, messageId }),
    (error: Error) =>
      logger.warn('status pending failed', { requestId, locationId, messageId, error: error.message }),
  );
  pending.set(
    requestId,
    sent.then(() => undefined),
  );
}

export async function reportOutcome(
  requestId: string,
  locationId: string,
  messageId: string,
  status: 'delivered' | 'failed',
  error?: StatusError,
): Promise<void> {
  await pending.get(requestId);
  pending.delete(requestId);
  await updateStatus(locationId, messageId, status, error);
  logger.info('status sent', { requestId, locationId, messageId, status });
}
