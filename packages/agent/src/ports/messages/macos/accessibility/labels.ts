import type { ClassicType } from '@footbridge/protocol/metadata';

import type { LabelKey } from '../programs/screen-lines.ts';
import type { ComposeInput } from '../programs/compose.ts';
import type { TapbackInput } from '../programs/tapback.ts';

const accessibility = (key: string): LabelKey => ({ table: 'Accessibility', key });
const chatKit = (key: string): LabelKey => ({ table: 'ChatKit', key });

type ClassicTapback = Extract<TapbackInput['tapback'], { kind: 'classic' }>;

const classic = (place: number, identifier: string, key: string): ClassicTapback => ({
  kind: 'classic',
  title: accessibility(`acknowledgment.type.${key}`),
  identifier,
  place,
});

/** The six Tapbacks on the screen. */
export const CLASSIC_TAPBACKS: Readonly<Record<ClassicType, ClassicTapback>> = {
  love: classic(0, 'heart', 'heart'),
  like: classic(1, 'thumbsUp', 'thumbs.up'),
  dislike: classic(2, 'thumbsDown', 'thumbs.down'),
  laugh: classic(3, 'ha', 'ha'),
  emphasize: classic(4, 'exclamation', 'exclamation'),
  question: classic(5, 'questionMark', 'question.mark'),
};

export const TAPBACK_LABELS: TapbackInput['labels'] = {
  picker: accessibility('acknowledgments.action.title'),
  allEmoji: chatKit('ACCESSIBILITY_ADD_EMOJI_TAPBACK'),
  moreEmoji: accessibility('add.custom.emoji.reaction'),
};

export const COMPOSE_LABELS: Pick<ComposeInput, 'labels' | 'english'> = {
  labels: {
    reply: accessibility('balloon.message.reply'),
    sendWithEffect: accessibility('impact.effect.send'),
  },
  english: { add: ['add', 'Apps'], effects: 'Message Effects', effect: 'Effect: %@' },
};

/** The English names of the effects in Messages, by their ids in the store. macOS offers no shooting star. */
export const EFFECT_NAMES: Readonly<Record<string, string>> = {
  'com.apple.MobileSMS.expressivesend.impact': 'Slam',
  'com.apple.MobileSMS.expressivesend.loud': 'Loud',
  'com.apple.MobileSMS.expressivesend.gentle': 'Gentle',
  'com.apple.MobileSMS.expressivesend.invisibleink': 'Invisible Ink',
  'com.apple.messages.effect.CKEchoEffect': 'Echo',
  'com.apple.messages.effect.CKSpotlightEffect': 'Spotlight',
  'com.apple.messages.effect.CKHappyBirthdayEffect': 'Balloons',
  'com.apple.messages.effect.CKConfettiEffect': 'Confetti',
  'com.apple.messages.effect.CKHeartEffect': 'Love',
  'com.apple.messages.effect.CKLasersEffect': 'Lasers',
  'com.apple.messages.effect.CKFireworksEffect': 'Fireworks',
  'com.apple.messages.effect.CKSparklesEffect': 'Celebration',
};

/** All labels whose keys the programs use. */
export const ALL_LABELS: readonly LabelKey[] = [
  ...Object.values(CLASSIC_TAPBACKS).map(({ title }) => title),
  ...Object.values(TAPBACK_LABELS),
  ...Object.values(COMPOSE_LABELS.labels),
  accessibility('group.reply.collection'),
];
