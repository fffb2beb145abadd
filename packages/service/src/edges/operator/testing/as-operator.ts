import type { FastifyInstance } from 'fastify';

/** Lets every request of a test pass as one of the operator. */
export function asOperator(app: FastifyInstance): void {
  app.decorateRequest('operator');
  app.addHook('onRequest', async (request) => {
    request.operator = { tokenId: null, tokenHash: '', label: 'Operator', readOnly: false, locations: null };
  });
}
