import { startCapture, stopCapture } from '@footbridge/protocol/operator/people';

import { ChangeButton, Problem } from '../controls.tsx';
import { call } from '../session.ts';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import type { History } from './types.ts';

const untilText = (time: string) => `The texts of this location are shown until ${time}.`;

interface CapturedTextProps {
  readonly history: History;
  readonly reload: () => void;
}

/** The text of a message while its location is captured, and the switch for it. */
export function CapturedText({ history, reload }: CapturedTextProps) {
  const action = useAction();
  const change = (definition: typeof startCapture | typeof stopCapture) => async () => {
    await call(definition, { locationId: history.locationId });
    reload();
  };
  if (history.capturedUntil === null)
    return (
      <div class="capture">
        <p class="hint">
          Texts are not stored. Shows only messages that arrive from now on. Texts are kept in memory only,
          and the audit log records this.
        </p>
        <ChangeButton name="Show texts for 15 minutes" action={action} change={change(startCapture)} />
        <Problem text={action.problem.value} />
      </div>
    );
  const texts = [...new Set(history.requests.flatMap(({ text }) => text ?? []))];
  return (
    <div class="capture is-on">
      <p role="status">
        <strong>{untilText(timeText(history.capturedUntil))}</strong>
      </p>
      {texts.length === 0 && (
        <p class="hint">This message arrived before texts were shown, so its text is not available.</p>
      )}
      {texts.map((text) => (
        <blockquote key={text} aria-label="Text">
          <bdi>{text}</bdi>
        </blockquote>
      ))}
      <ChangeButton name="Hide texts now" action={action} change={change(stopCapture)} />
      <Problem text={action.problem.value} />
    </div>
  );
}
