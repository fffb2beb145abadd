import { randomUUID } from 'node:crypto';

import type { RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import { z } from 'zod';

import { hasGrant, updateStatus } from './crm-client.ts';
import { logger } from './logger.ts';
import { sendToMac } from './macs.ts';
import { settings } from './settings.ts';
import { reportPending } from './statuses.ts';

const webhookBody = z
  .object({
    locationId: z.string().trim().min(1),
    contactId: z.string().trim().min(1),
    message: z.string().optional(),
    attachments: z.array(z.url()).max(20).optional(),
    messageId: z.string().min(1).max(256).optional(),
    phone: z.string().regex(/^\+?[\d\s().-]{3,20}$/),
    type: z.literal('SMS').optional(),
    userId: z.string().optional(),
  })
  .refine((body) => Boolean(body.message?.trim()) || Boolean(body.attachments?.length), {
    path: ['message or attachments'],
  });

const locationOf = z.object({ locationId: z.string().regex(/^[A-Za-z0-9]{3,200}$/) });

export const limitPerLocation = rateLimit({
  windowMs: 60_000,
  limit: settings.RATE_LIMIT,
  standardHeaders: 'draft-6',
  legacyHeaders: false,
  keyGenerator: (request) => {
    const body = locationOf.safeParse(request.body);
    return body.success ? body.data.locationId : ipKeyGenerator(request.ip ?? '');
  },
  message: {
    error: 'TOO_MANY_REQUESTS',
    code: 'TOO_MANY_REQUESTS',
    message: 'Too many webhook requests for this location.',
  },
});

export const receiveWebhook: RequestHandler = (request, response) => {
  const parsed = webhookBody.safeParse(request.body);
  if (!parsed.success) {
    const required = parsed.error.issues.map((issue) => issue.path.join('.'));
    logger.info('webhook rejected', { code: 'MISSING_REQUIRED_FIELDS', required });
    return response
      .status(400)
      .json({ error: 'Missing required fields', code: 'MISSING_REQUIRED_FIELDS', required });
  }
  const { locationId, contactId, message = '', attachments = [], messageId, phone, userId } = parsed.data;
  if (message.length > settings.MESSAGE_MAX_LENGTH) {
    return response.status(400).json({
      error: `Message body exceeds maximum length of ${settings.MESSAGE_MAX_LENGTH} characters`,
      code: 'MESSAGE_BODY_TOO_LONG',
      received: message.length,
      limit: settings.MESSAGE_MAX_LENGTH,
    });
  }

  const requestId = randomUUID();
  const channel = request.path.endsWith('/sms') ? 'sms' : 'imessage';
  const sent = sendToMac(locationId, {
    type: 'send',
    requestId,
    messageId: messageId ?? null,
    contactId,
    phone,
    message,
    attachments,
    channel,
  });
  if (!sent) return rejectUnconnected(locationId, messageId, response);

  response.status(200).json({
    status: 'success',
    requestId,
    message: `Message sent to ${channel === 'sms' ? 'SMS' : 'iMessage'}`,
    messageId: messageId ?? null,
    locationId,
  });
  logger.info('webhook forwarded', { requestId, locationId, contactId, messageId, userId });
  if (messageId !== undefined) reportPending(requestId, locationId, messageId);
  return undefined;
};

function rejectUnconnected(
  locationId: string,
  messageId: string | undefined,
  response: Parameters<RequestHandler>[1],
): void {
  logger.info('webhook rejected', { code: 'LOCATION_NOT_CONNECTED', locationId, messageId });
  response.status(404).json({
    error: 'Location not connected',
    code: 'LOCATION_NOT_CONNECTED',
    locationId,
    message: 'No Mac is connected for this location.',
  });
  if (messageId === undefined || !hasGrant(locationId)) return;
  const error = {
    code: 'CLIENT_NOT_CONNECTED',
    type: 'error',
    message: 'No Mac is connected for this location.',
  } as const;
  updateStatus(locationId, messageId, 'failed', error).catch((failure: Error) =>
    logger.warn('status failed not sent', { locationId, messageId, error: failure.message }),
  );
}
