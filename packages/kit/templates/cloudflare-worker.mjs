// A receiver as a Cloudflare Worker: the main module of the Worker. The secrets are set with `wrangler secret put`.
import { receiveCall } from '@footbridge/kit';
import { createCrm } from './your-crm.mjs';

// Memory lasts only as long as the isolate: keep contacts, messages and statuses in D1.
let crm;

export default {
  async fetch(request, env) {
    crm ??= createCrm(env);
    const { method, url, headers } = request;
    const { status, body } = await receiveCall({ method, url, headers, body: await request.text() }, crm);
    return Response.json(body, { status });
  },
};
