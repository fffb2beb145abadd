import type { FastifyInstance } from 'fastify';

/** Lets every request of a test pass as one of the operator, or of a token for some locations. */
export function asOperator(app: FastifyInstance, locations: ReadonlySet<string> | null = null): void {
  app.decorateRequest('operator');
  app.addHook('onRequest', async (request) => {
    request.operator = { tokenId: null, tokenHash: '', label: 'Operator', readOnly: false, locations };
  });
}
