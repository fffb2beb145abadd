/** A message effect, with its name in the contract and its id in the store. */
export interface Effect {
  readonly name: string;
  readonly kind: 'bubble' | 'screen';
  /** `expressive_send_style_id`. */
  readonly id: string;
  /** Other names, including Apple's. */
  readonly aliases: readonly string[];
}

const bubble = (name: string, apple: string, ...aliases: string[]): Effect => ({
  name,
  kind: 'bubble',
  id: `com.apple.MobileSMS.expressivesend.${apple}`,
  aliases: [apple, ...aliases],
});

const screen = (name: string, apple: string, ...aliases: string[]): Effect => ({
  name,
  kind: 'screen',
  id: `com.apple.messages.effect.${apple}`,
  aliases: [apple, ...aliases],
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

const byName = new Map<string, Effect>(
  EFFECTS.flatMap((effect) =>
    [effect.name, effect.id, ...effect.aliases].map((name) => [normalize(name), effect] as const),
  ),
);

/** Finds an effect by name, alias or id. Ignores case, spaces, dashes and underscores. */
export function findEffect(name: string): Effect | undefined {
  return byName.get(normalize(name));
}

function normalize(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '');
}
