import process from 'node:process';

import { z } from 'zod';

const schema = z.object({
  PORT: z.coerce.number().int().default(4600),
  CRM_URL: z.url(),
  CRM_PUBLIC_KEY: z.string().min(1),
  RATE_LIMIT: z.coerce.number().int().default(60),
  MESSAGE_MAX_LENGTH: z.coerce.number().int().default(20_000),
  LOG_LEVEL: z.string().default('info'),
});

export const settings = schema.parse(process.env);
