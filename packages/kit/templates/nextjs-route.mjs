// A receiver as a route handler of Next.js: copy it to app/crm/[...call]/route.js, and your-crm.mjs next to it.
import { receiveCall } from '@footbridge/kit';
import { createCrm } from './your-crm.mjs';

const crm = createCrm(process.env);

async function handle(request) {
  const { method, url, headers } = request;
  const { status, body } = await receiveCall({ method, url, headers, body: await request.text() }, crm);
  return Response.json(body, { status });
}

export { handle as GET, handle as POST, handle as PUT };
