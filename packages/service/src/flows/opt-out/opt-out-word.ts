export type OptOutWord = 'stop' | 'start' | 'help';

/** The words that carriers and messaging services treat as instructions, in several languages. */
const WORDS: Readonly<Record<OptOutWord, readonly string[]>> = {
  stop: [
    'stop',
    'stopall',
    'stop all',
    'unsubscribe',
    'cancel',
    'end',
    'quit',
    'optout',
    'opt out',
    'opt-out',
    'revoke',
    'remove',
    'arret',
    'arrêt',
    'désabonner',
    'desabonner',
    'alto',
    'baja',
    'parar',
    'cancelar',
    'stopp',
    'abmelden',
    'abbestellen',
    'afmelden',
    'stoppen',
    'sair',
    'ferma',
    'annulla',
    'disiscrivimi',
    'wypisz',
    'rezygnuję',
    'rezygnuje',
    'avsluta',
    'avregistrera',
    'avmeld',
    'afmeld',
    'стоп',
    'отписаться',
    '退订',
    '退訂',
    '停止',
    '配信停止',
    '수신거부',
    '수신 거부',
  ],
  start: [
    'start',
    'unstop',
    'subscribe',
    'resubscribe',
    'optin',
    'opt in',
    'opt-in',
    'anmelden',
    'comenzar',
    'iniciar',
    'commencer',
    'aanmelden',
    'inizia',
    'zapisz',
    'starta',
    'tilmeld',
    'påmeld',
    'старт',
    '订阅',
    '訂閱',
    '配信開始',
    '수신동의',
    '수신 동의',
  ],
  help: [
    'help',
    'info',
    'aide',
    'ayuda',
    'hilfe',
    'aiuto',
    'ajuda',
    'hulp',
    'pomoc',
    'hjälp',
    'hjælp',
    'hjelp',
    'помощь',
    '帮助',
    '幫助',
    'ヘルプ',
    '도움말',
  ],
};

const BY_WORD: ReadonlyMap<string, OptOutWord> = new Map(
  (Object.keys(WORDS) as OptOutWord[]).flatMap((meaning) => WORDS[meaning].map((word) => [word, meaning])),
);
const LONGEST = Math.max(...[...BY_WORD.keys()].map((word) => word.length));
/** Quotes, punctuation and spaces around the word, and an emoji after it. */
const AROUND = /^[\s\p{P}\p{S}\p{Cf}\p{M}]+|[\s\p{P}\p{S}\p{Cf}\p{M}]+$/gu;

/**
 * Returns the instruction that a message consists of. Only a message that is nothing but the word counts: "stop by tomorrow" is not an
 * opt-out.
 */
export function optOutWord(text: string): OptOutWord | undefined {
  if (text.length > 4 * LONGEST) return undefined;
  const word = text.normalize('NFKC').replaceAll(AROUND, '').replaceAll(/\s+/g, ' ').toLowerCase();
  return BY_WORD.get(word);
}
