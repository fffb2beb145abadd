import { startCapture, stopCapture } from '@footbridge/protocol/operator/people';

import { ChangeButton, Problem } from '../controls.tsx';
import { call } from '../session.ts';
import { CAPTURE_TEXTS } from '../texts.ts';
import { timeText } from '../times.ts';
import { useAction } from '../use-action.ts';
import type { History } from './types.ts';

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
          {CAPTURE_TEXTS.hidden} {CAPTURE_TEXTS.explanation}
        </p>
        <ChangeButton name={CAPTURE_TEXTS.start} action={action} change={change(startCapture)} />
        <Problem text={action.problem.value} />
      </div>
    );
  const texts = [...new Set(history.requests.flatMap(({ text }) => text ?? []))];
  return (
    <div class="capture is-on">
      <p role="status">
        <strong>{CAPTURE_TEXTS.until(timeText(history.capturedUntil))}</strong>
      </p>
      {texts.length === 0 && <p class="hint">{CAPTURE_TEXTS.missed}</p>}
      {texts.map((text) => (
        <blockquote key={text} aria-label={CAPTURE_TEXTS.text}>
          <bdi>{text}</bdi>
        </blockquote>
      ))}
      <ChangeButton name={CAPTURE_TEXTS.stop} action={action} change={change(stopCapture)} />
      <Problem text={action.problem.value} />
    </div>
  );
}
