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
    'відписатися',
    'odhlásit',
    'odhlásiť',
    'odhlasit',
    'zrušit',
    'zrusit',
    'odjava',
    'leiratkozás',
    'leiratkozas',
    'leiratkozom',
    'dezabonare',
    'lopeta',
    'peruuta',
    'διαγραφή',
    'διαγραφη',
    'στοπ',
    'iptal',
    'ret',
    'הסר',
    'הסירו',
    'להסרה',
    'توقف',
    'إيقاف',
    'ايقاف',
    'إلغاء',
    'الغاء',
    'बंद',
    'रोकें',
    'hủy',
    'huy',
    'dừng',
    'berhenti',
    'ยกเลิก',
  ],
  start: [
    'start',
    'unstop',
    'subscribe',
    'resubscribe',
    'optin',
    'opt in',
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
    'підписатися',
    'подписаться',
    'přihlásit',
    'prihlasit',
    'prijava',
    'feliratkozás',
    'feliratkozas',
    'abonare',
    'aloita',
    'έναρξη',
    'εναρξη',
    'başla',
    'basla',
    'הצטרף',
    'ابدأ',
    'اشتراك',
    'शुरू',
    'bắt đầu',
    'mulai',
    'เริ่ม',
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
    'допомога',
    'pomoct',
    'pomôcť',
    'segítség',
    'segitseg',
    'ajutor',
    'apua',
    'βοήθεια',
    'βοηθεια',
    'yardım',
    'yardim',
    'עזרה',
    'مساعدة',
    'मदद',
    'trợ giúp',
    'bantuan',
    'ช่วยเหลือ',
  ],
};

/** Zero-width and other invisible characters, and the combining dot above: the lower case of Turkish İ is i with that dot. */
const INVISIBLE = /[\p{Cf}\u0307]/gu;
/** Quotes, punctuation, spaces and control characters around the word, and emoji. */
const AROUND = /^[\s\p{P}\p{S}\p{C}\p{M}]+|[\s\p{P}\p{S}\p{C}\p{M}]+$/gu;
/** Spaces, and all kinds of hyphens. */
const BETWEEN = /[\s\p{Pd}_]+/gu;
const MAX_LENGTH = 200;

const normalised = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(INVISIBLE, '')
    .replaceAll(AROUND, '')
    .replaceAll(BETWEEN, ' ');

/** Filled on first use: compiling the patterns takes 4 % of the start, and most services ignore opt-out words. */
let byWord: ReadonlyMap<string, OptOutWord> | undefined;

function meanings(): ReadonlyMap<string, OptOutWord> {
  byWord ??= new Map(
    (Object.keys(WORDS) as OptOutWord[]).flatMap((meaning) =>
      WORDS[meaning].map((word) => [normalised(word), meaning]),
    ),
  );
  return byWord;
}

/**
 * Returns the instruction that a message consists of. Only a message that is nothing but the word counts: "stop by tomorrow" is not an
 * opt-out.
 */
export function optOutWord(text: string): OptOutWord | undefined {
  return text.length > MAX_LENGTH ? undefined : meanings().get(normalised(text));
}
