import { FRAME_SHAPES } from '../frames.ts';
import { object } from '../schema.ts';
import { time } from './parts.ts';

const {
  type: _type,
  capabilities,
  lastSentAt,
  lastReceivedAt,
  ...optional
} = FRAME_SHAPES.mac.state.properties;

/** The newest `state` frame of a Mac, and when it arrived. */
export const macState = object({ at: time, capabilities, lastSentAt, lastReceivedAt }, optional);
