// A receiver on plain Node: node node.mjs
import { createServer } from 'node:http';
import { receiveCall } from '@footbridge/kit';
import { createCrm } from './your-crm.mjs';

const MAX_BYTES = 1_000_000;
const crm = createCrm(process.env);

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function respond(request, response) {
  const { method, url, headers } = request;
  const body = await readBody(request);
  const tooLarge = { status: 413, body: { message: 'The body is too large.' } };
  const answer = body === undefined ? tooLarge : await receiveCall({ method, url, headers, body }, crm);
  response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer.body));
}

const server = createServer((request, response) => {
  respond(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
});
server.listen(Number(process.env.PORT ?? 3000), () =>
  console.log(`Listening on port ${server.address().port}`),
);
