export interface Effect {
  readonly name: string;
  readonly title: string;
  readonly kind: 'bubble' | 'screen';
}

export const EFFECTS: readonly Effect[] = [
  { name: 'slam', title: 'Slam', kind: 'bubble' },
  { name: 'loud', title: 'Loud', kind: 'bubble' },
  { name: 'gentle', title: 'Gentle', kind: 'bubble' },
  { name: 'invisible_ink', title: 'Invisible ink', kind: 'bubble' },
  { name: 'confetti', title: 'Confetti', kind: 'screen' },
  { name: 'balloons', title: 'Balloons', kind: 'screen' },
  { name: 'love', title: 'Love', kind: 'screen' },
  { name: 'fireworks', title: 'Fireworks', kind: 'screen' },
];

export const effectNamed = (name: string | undefined): Effect | undefined =>
  EFFECTS.find((effect) => effect.name === name);
