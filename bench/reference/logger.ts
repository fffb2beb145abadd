import winston from 'winston';

import { settings } from './settings.ts';

export const logger = winston.createLogger({
  level: settings.LOG_LEVEL,
  format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
  transports: [new winston.transports.Console()],
});
