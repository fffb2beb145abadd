// A receiver with Fastify 5: npm install fastify && node fastify.mjs
import { fastify } from 'fastify';
import { receiveCall } from '@footbridge/kit';
import { createCrm } from './your-crm.mjs';

const crm = createCrm(process.env);
const app = fastify({ bodyLimit: 1_000_000 });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'string' }, (request, body, done) => done(null, body));
app.all('/*', async ({ method, url, headers, body }, reply) => {
  const answer = await receiveCall({ method, url, headers, body }, crm);
  return reply.code(answer.status).send(answer.body);
});
app.setErrorHandler((error, request, reply) => {
  if (error.statusCode === undefined) console.error(error);
  return reply.code(error.statusCode ?? 500).send({ message: 'The call failed.' });
});
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '0.0.0.0' });
console.log(`Listening on port ${app.server.address().port}`);
