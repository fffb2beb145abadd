import type { AlertReceiver } from './alerts.ts';
import { postJson } from './post-json-http.ts';
import type { HttpTarget } from './post-json-http.ts';
import { renderAlert } from './render-alert.ts';

/** Posts alerts as an Adaptive Card to an incoming webhook of Teams (Workflows). */
export function createTeamsReceiver(target: HttpTarget): AlertReceiver {
  return {
    name: 'teams',
    target: target.url.host,
    send(alert, stopped) {
      const { title, lines } = renderAlert(alert);
      const block = (text: string) => ({ type: 'TextBlock', text: escaped(text), wrap: true });
      const card = {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [{ ...block(title), weight: 'Bolder' }, ...lines.map(block)],
      };
      const attachment = {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: card,
      };
      return postJson(target, JSON.stringify({ type: 'message', attachments: [attachment] }), stopped);
    },
  };
}

/** Cards read these characters as Markdown. */
const escaped = (text: string) => text.replaceAll(/[\\`*_[\]()#]/g, '\\$&');
