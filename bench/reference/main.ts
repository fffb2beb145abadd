// The reference: the bridge as a competent team would build it in a week from popular libraries.
import { createServer } from 'node:http';
import process from 'node:process';

import express from 'express';
import type { ErrorHandler } from 'express';

import { logger } from './logger.ts';
import { acceptMacs } from './macs.ts';
import { settings } from './settings.ts';
import { keepRawBody, requireSignature } from './signature.ts';
import { limitPerLocation, receiveWebhook } from './webhook.ts';

const app = express();
app.disable('x-powered-by');
app.disable('etag');
app.use(express.json({ limit: '1mb', verify: keepRawBody }));
app.post(
  ['/crm/webhook', '/crm/webhook/imessage', '/crm/webhook/sms'],
  requireSignature,
  limitPerLocation,
  receiveWebhook,
);

const handleError: ErrorHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error);
  logger.error('request failed', { error: error instanceof Error ? error.message : error });
  return response.status(500).json({ error: 'Internal error', code: 'INTERNAL_ERROR' });
};
app.use(handleError);

const server = createServer(app);
process.on('SIGTERM', () => process.exit(0));
server.keepAliveTimeout = 60_000;
acceptMacs(server);
server.listen(settings.PORT, '127.0.0.1', () => logger.info('listening', { port: settings.PORT }));
