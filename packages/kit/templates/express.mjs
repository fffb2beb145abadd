// A receiver with Express 5: npm install express && node express.mjs
import express from 'express';
import { receiveCall } from '@footbridge/kit';
import { createCrm } from './your-crm.mjs';

const crm = createCrm(process.env);
const app = express();
app.disable('x-powered-by');
app.use(express.text({ type: () => true, limit: '1mb' }));
app.use(async (request, response) => {
  const { method, originalUrl: url, headers, body } = request;
  const answer = await receiveCall({ method, url, headers, body }, crm);
  response.status(answer.status).json(answer.body);
});
app.use((error, request, response, _next) => {
  if (error.status === undefined) console.error(error);
  response.sendStatus(error.status ?? 500);
});
const server = app.listen(Number(process.env.PORT ?? 3000), () =>
  console.log(`Listening on port ${server.address().port}`),
);
