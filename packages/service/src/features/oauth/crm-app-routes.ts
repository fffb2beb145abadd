import { CRM_SCOPES } from '@footbridge/protocol/crm-scopes';
import { showCrmApp } from '@footbridge/protocol/operator/crm';
import type { FastifyInstance } from 'fastify';

import { serveCall } from '../../platform/operator/serve-call.ts';
import type { OAuthApp } from './settings.ts';

export interface CrmAppRoutesDeps {
  readonly oauth: OAuthApp;
  readonly publicUrl: () => string;
}

const INSTALL = 'https://marketplace.gohighlevel.com/oauth/chooselocation';

/** `GET /operator/crm-app`: what to enter in the app at the CRM, and the link that installs it. Contains no secret. */
export function crmAppRoutes({ oauth, publicUrl }: CrmAppRoutesDeps) {
  return (app: FastifyInstance): void => {
    serveCall(app, showCrmApp, async () => {
      const url = publicUrl();
      const redirectUrl = `${url}/oauth/callback/crm`;
      return {
        deliveryUrl: `${url}/crm/webhook`,
        redirectUrl,
        eventsUrl: `${url}/crm/events`,
        scopes: CRM_SCOPES,
        oauth: oauth.state,
        missing: oauth.state === 'incomplete' ? oauth.missing : [],
        installUrl: oauth.state === 'ready' ? installUrl(oauth.clientId, redirectUrl) : null,
      };
    });
  };
}

function installUrl(clientId: string, redirectUrl: string): string {
  const query = new URLSearchParams({
    response_type: 'code',
    redirect_uri: redirectUrl,
    client_id: clientId,
    scope: CRM_SCOPES.map(({ scope }) => scope).join(' '),
  });
  // HighLevel documents the scopes as separated by %20, which URLSearchParams writes as a plus sign.
  return `${INSTALL}?${query.toString().replaceAll('+', '%20')}`;
}
