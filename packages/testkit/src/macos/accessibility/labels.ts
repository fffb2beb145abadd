/** The languages of the simulated Messages. */
export const LANGUAGES = ['en', 'nl', 'de', 'fr', 'es', 'it', 'pt', 'ja', 'ar', 'zh'] as const;
/** A language that no program can know: its labels do not resemble those of any other. */
export const MADE_UP_LANGUAGE = 'xx';
export type Language = (typeof LANGUAGES)[number] | typeof MADE_UP_LANGUAGE;

export type LabelTable = 'Accessibility' | 'ChatKit';

/** Texts by key. */
export type Labels = Readonly<Record<string, string>>;

const TAPBACK_KEYS = ['heart', 'thumbs.up', 'thumbs.down', 'ha', 'exclamation', 'question.mark'];

/** The six Tapbacks, then reply, React (macOS 13 to 15), Tapback (26), all emoji, more emoji, the thread. Made for tests. */
const WORDS: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'Heart',
    'Thumbs up',
    'Thumbs down',
    'Ha ha!',
    'Exclamation mark',
    'Question mark',
    'Reply',
    'React',
    'Tapback',
    'Add Emoji as Tapback',
    'Add custom emoji reaction',
    'Reply transcript',
  ],
  nl: [
    'Hart',
    'Duim omhoog',
    'Duim omlaag',
    'Haha!',
    'Uitroepteken',
    'Vraagteken',
    'Antwoord',
    'Reageer',
    'Tapback',
    'Voeg emoji toe als tapback',
    'Voeg andere emoji toe',
    'Antwoorden',
  ],
  de: [
    'Herz',
    'Daumen hoch',
    'Daumen runter',
    'Haha!',
    'Ausrufezeichen',
    'Fragezeichen',
    'Antworten',
    'Reagieren',
    'Tapback',
    'Emoji als Tapback hinzufügen',
    'Eigenes Emoji hinzufügen',
    'Antwortverlauf',
  ],
  fr: [
    'Cœur',
    'Pouce vers le haut',
    'Pouce vers le bas',
    'Ha ha !',
    'Point d’exclamation',
    'Point d’interrogation',
    'Répondre',
    'Réagir',
    'Tapback',
    'Ajouter un emoji en Tapback',
    'Ajouter un emoji personnalisé',
    'Fil des réponses',
  ],
  es: [
    'Corazón',
    'Pulgar arriba',
    'Pulgar abajo',
    '¡Ja, ja!',
    'Signo de exclamación',
    'Signo de interrogación',
    'Responder',
    'Reaccionar',
    'Tapback',
    'Añadir emoji como Tapback',
    'Añadir otro emoji',
    'Transcripción de respuestas',
  ],
  it: [
    'Cuore',
    'Pollice in su',
    'Pollice in giù',
    'Ah ah!',
    'Punto esclamativo',
    'Punto interrogativo',
    'Rispondi',
    'Reagisci',
    'Tapback',
    'Aggiungi emoji come Tapback',
    'Aggiungi emoji personalizzata',
    'Trascrizione risposte',
  ],
  pt: [
    'Coração',
    'Polegar para cima',
    'Polegar para baixo',
    'Ha ha!',
    'Ponto de exclamação',
    'Ponto de interrogação',
    'Responder',
    'Reagir',
    'Tapback',
    'Adicionar emoji como Tapback',
    'Adicionar outro emoji',
    'Transcrição das respostas',
  ],
  ja: [
    'ハート',
    'いいね',
    'よくないね',
    '笑い',
    '感嘆符',
    '疑問符',
    '返信',
    'リアクション',
    'Tapback',
    '絵文字をTapbackとして追加',
    'カスタム絵文字を追加',
    '返信の一覧',
  ],
  ar: [
    'قلب',
    'إبهام لأعلى',
    'إبهام لأسفل',
    'ها ها!',
    'علامة تعجب',
    'علامة استفهام',
    'رد',
    'تفاعل',
    'استجابة سريعة',
    'إضافة إيموجي كاستجابة',
    'إضافة إيموجي مخصص',
    'نص الردود',
  ],
  zh: [
    '心',
    '赞',
    '踩',
    '哈哈！',
    '感叹号',
    '问号',
    '回复',
    '回应',
    '点回',
    '将表情符号添加为点回',
    '添加自定表情符号',
    '回复记录',
  ],
  // Characters that mean something in patterns and formats, and two labels of which one is the beginning of the other.
  xx: ['(.*)', 'Heart', 'Heart 2', '%@ ñ', '"\\n"', '$1', '‏ⵣⵣ‏', '[a-z]+', '?', '🙂', '🙂🙂', 'Name:'],
};

/** Returns a table of the system in one language, as the given version of macOS has it. */
export function labelsOf(table: LabelTable, language: Language, macos: number): Labels {
  const word = (index: number): string => WORDS[language][index] ?? '';
  const marked = (english: string): string => (language === 'en' ? english : `${english} ‹${language}›`);
  if (table === 'ChatKit')
    return {
      MADRID: 'iMessage',
      ACCESSIBILITY_ADD_EMOJI_TAPBACK: word(9),
      SEND_MENU_EFFECTS: marked('Message Effects'),
      ...Object.fromEntries(Object.keys(EFFECT_IDS).map((name, index) => [`EFFECT_${index}`, marked(name)])),
    };
  return {
    ...Object.fromEntries(TAPBACK_KEYS.map((key, index) => [`acknowledgment.type.${key}`, word(index)])),
    'balloon.message.reply': word(6),
    'acknowledgments.action.title': macos >= 26 ? word(8) : word(7),
    'add.custom.emoji.reaction': word(10),
    'group.reply.collection': word(11),
    'impact.effect.send': marked('Send with %@ effect'),
    'entry.add': marked('add'),
    'effect.item': marked('Effect: %@'),
  };
}

/** The names of the effects in a language, with their ids in the store. */
export const EFFECT_IDS: Readonly<Record<string, string>> = {
  Slam: 'com.apple.MobileSMS.expressivesend.impact',
  Loud: 'com.apple.MobileSMS.expressivesend.loud',
  Gentle: 'com.apple.MobileSMS.expressivesend.gentle',
  'Invisible Ink': 'com.apple.MobileSMS.expressivesend.invisibleink',
  Echo: 'com.apple.messages.effect.CKEchoEffect',
  Spotlight: 'com.apple.messages.effect.CKSpotlightEffect',
  Balloons: 'com.apple.messages.effect.CKHappyBirthdayEffect',
  Confetti: 'com.apple.messages.effect.CKConfettiEffect',
  Love: 'com.apple.messages.effect.CKHeartEffect',
  Lasers: 'com.apple.messages.effect.CKLasersEffect',
  Fireworks: 'com.apple.messages.effect.CKFireworksEffect',
  Celebration: 'com.apple.messages.effect.CKSparklesEffect',
};
