import { SkippingClock } from '@footbridge/testkit/skipping-clock';

/** The deadline of a program that sends a message. No other pause of the agent takes exactly as long. */
const PROGRAM_TIMEOUT_MS = 150_000;

/** A clock that knows whether such a program runs. A program takes real time, so skipped time would end it. */
export class ProgramClock extends SkippingClock {
  programs = 0;

  override after(ms: number, run: () => void): () => void {
    if (ms !== PROGRAM_TIMEOUT_MS) return super.after(ms, run);
    this.programs += 1;
    let isOver = false;
    const cancel = super.after(ms, run);
    return () => {
      if (!isOver) this.programs -= 1;
      isOver = true;
      cancel();
    };
  }
}
