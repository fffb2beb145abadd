import type { AlertReceiver } from './alerts.ts';
import { postJson } from './post-json-http.ts';
import type { HttpTarget } from './post-json-http.ts';
import { renderAlert } from './render-alert.ts';

/** Posts alerts to an incoming webhook of Slack. */
export function createSlackReceiver(target: HttpTarget): AlertReceiver {
  return {
    name: 'slack',
    target: target.url.host,
    send(alert, stopped) {
      const { title, lines } = renderAlert(alert);
      const [head, ...rest] = [title, ...lines].map(escaped);
      return postJson(target, JSON.stringify({ text: [`*${head}*`, ...rest].join('\n') }), stopped);
    },
  };
}

/** Slack reads these characters as links and mentions. */
const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
