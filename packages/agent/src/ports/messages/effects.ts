/** The effects with which Messages can show a text, under the names the contract uses and the ids the store keeps. */
export interface Effect {
  readonly name: string;
  readonly kind: 'bubble' | 'screen';
  /** `expressive_send_style_id`. */
  readonly id: string;
  /** Other words people use for it, Apple's own among them. */
  readonly also: readonly string[];
}

const bubble = (name: string, apple: string, ...also: string[]): Effect => ({
  name,
  kind: 'bubble',
  id: `com.apple.MobileSMS.expressivesend.${apple}`,
  also: [apple, ...also],
});

const screen = (name: string, apple: string, ...also: string[]): Effect => ({
  name,
  kind: 'screen',
  id: `com.apple.messages.effect.${apple}`,
  also: [apple, ...also],
});

export const EFFECTS: readonly Effect[] = [
  bubble('slam', 'impact'),
  bubble('loud', 'loud'),
  bubble('gentle', 'gentle'),
  bubble('invisible_ink', 'invisibleink'),
  screen('echo', 'CKEchoEffect'),
  screen('spotlight', 'CKSpotlightEffect'),
  screen('balloons', 'CKHappyBirthdayEffect', 'happy_birthday'),
  screen('confetti', 'CKConfettiEffect'),
  screen('love', 'CKHeartEffect', 'heart'),
  screen('lasers', 'CKLasersEffect'),
  screen('fireworks', 'CKFireworksEffect'),
  screen('celebration', 'CKSparklesEffect', 'sparkles'),
  screen('shooting_star', 'CKShootingStarEffect'),
];

const byWord = new Map<string, Effect>(
  EFFECTS.flatMap((effect) =>
    [effect.name, effect.id, ...effect.also].map((word) => [plain(word), effect] as const),
  ),
);

/** By name, by Apple's name or by the store's id; letters' case, spaces and dashes do not matter. */
export function findEffect(word: string): Effect | undefined {
  return byWord.get(plain(word));
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '');
}
