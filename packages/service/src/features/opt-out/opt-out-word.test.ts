import { describe, expect, it } from 'vitest';

import { optOutWord } from './opt-out-word.ts';

describe('the word of an opt-out', () => {
  it.each([
    'STOP',
    'stop',
    'Stop.',
    ' stop \n',
    '“STOP”',
    'STOP!!!',
    'StopAll',
    'stop  all',
    'Unsubscribe',
    'QUIT',
    'end',
    'Cancel',
    'OPT-OUT',
    'opt out',
    'Arrêt',
    'ARRET',
    'ＳＴＯＰ',
    'stop 🛑',
    'Abmelden',
    'baja',
    'sair',
  ])('E4 %j stops', (text) => {
    expect(optOutWord(text)).toBe('stop');
  });

  it.each([
    '🛑 STOP 🛑',
    '👩‍👩‍👧‍👦stop🏳️‍🌈',
    '*Stop*',
    '_stop_',
    '«stop»',
    '¡STOP!',
    '...stop...',
    'stop\u0000',
    '\uFEFFstop',
    '\u202Estop\u202C',
    'st\u200Bop',
    's\u00ADtop',
    'STOP\u00A0',
    'stop\uFE0F',
    '\n\n\tStOp\r\n',
    '𝐒𝐓𝐎𝐏',
    'Ⓢⓣⓞⓟ',
    `stop${' '.repeat(150)}`,
    'opt–out',
    'OPT\u2011OUT',
    'opt_out',
    'Opt\u3000Out',
    'STOP-ALL',
    'İPTAL',
    'ΣΤΟΠ',
    'arre\u0302t',
  ])('E4 %j stops, whatever surrounds or separates its letters', (text) => {
    expect(optOutWord(text)).toBe('stop');
  });

  it.each([
    // Cyrillic Т and О, Greek Ο, a dotless i, digits: not the letters of the word.
    'SТOP',
    'STОP',
    'STΟP',
    'st0p',
    '5top',
    'iptaI',
    'stopp1',
    'stop/start',
    'stop start',
    'stop=start',
    'stop; drop table messages',
    'STOP\nSent from my iPhone',
    'stop\u0336s',
    'p\u00F3ts',
    '__proto__',
    'constructor',
    'toString',
    '停',
    'stop'.repeat(50),
    '\uD800',
    '\u0000',
    '🛑🛑🛑',
    `${'.'.repeat(100)}a${'.'.repeat(90)}`,
  ])('E4 %j is not an instruction, although it resembles one', (text) => {
    expect(optOutWord(text)).toBeUndefined();
  });

  it.each(['START', 'unstop', 'Opt in', 'subscribe'])('E4 %j starts again', (text) => {
    expect(optOutWord(text)).toBe('start');
  });

  it.each(['HELP', 'Help?', 'info', 'Hilfe'])('E4 %j asks for help', (text) => {
    expect(optOutWord(text)).toBe('help');
  });

  it.each([
    'stop by tomorrow',
    "don't stop",
    'Stop it, you two',
    'the end',
    'cancel my 3 pm',
    'I quit!',
    'non-stop',
    'full stop',
    'helpful',
    'please help',
    'start at 9',
    'restart',
    'bus stop',
    'ends',
    'stopping',
    'nonstop',
    '',
    ' ',
    '.',
    '🛑',
    'STOP STOP',
    'stop, please',
    'end of day',
    'Remove the couch',
    'quit smoking',
    's t o p',
    'Can you stop?',
    'yes',
    'no',
    'not interested',
    'wrong number',
    `stop${' '.repeat(500)}now`,
  ])('E4 %j is not an instruction', (text) => {
    expect(optOutWord(text)).toBeUndefined();
  });

  it.each<[language: string, stop: string[], start: string[], help: string[], nearMisses: string[]]>([
    [
      'English',
      ['STOP', 'Unsubscribe!', 'opt-out'],
      ['START', 'Unstop'],
      ['HELP', 'info'],
      [
        'stop by tomorrow',
        'Stop sending flowers, she has left',
        'unsubscribed already',
        'start without me',
        'help me move',
      ],
    ],
    [
      'French',
      ['ARRÊT', 'arret.', 'Désabonner'],
      ['Commencer'],
      ['AIDE'],
      ['arrêt de bus', 'Arrête !', 'stop, j’arrive', 'on peut commencer', 'merci de votre aide'],
    ],
    [
      'Spanish',
      ['ALTO', '¡Baja!', 'cancelar', 'parar'],
      ['Comenzar', 'iniciar'],
      ['¿Ayuda?'],
      ['más alto', 'baja por favor', 'cancelar la cita', 'sin parar', 'vamos a comenzar'],
    ],
    [
      'German',
      ['Stopp', 'ABMELDEN', '„Abbestellen“'],
      ['Anmelden'],
      ['Hilfe!'],
      ['stopp mal kurz', 'ich muss mich abmelden', 'Stoppuhr', 'Danke für die Hilfe'],
    ],
    [
      'Dutch',
      ['Afmelden', 'STOPPEN'],
      ['aanmelden'],
      ['hulp'],
      ['stoppen met roken', 'kan ik me afmelden?', 'stopcontact', 'hulp gezocht'],
    ],
    [
      'Portuguese',
      ['SAIR', 'Parar', 'cancelar'],
      ['iniciar'],
      ['Ajuda'],
      ['vou sair agora', 'parar no posto', 'cancelar a reunião', 'obrigado pela ajuda'],
    ],
    [
      'Italian',
      ['Ferma', 'ANNULLA', 'disiscrivimi'],
      ['Inizia'],
      ['aiuto'],
      ['fermata', 'ferma qui', 'annulla il tavolo', 'inizia alle nove', 'aiutami'],
    ],
    [
      'Polish',
      ['WYPISZ', 'rezygnuję', 'Rezygnuje.'],
      ['zapisz'],
      ['pomoc'],
      ['wypisz receptę', 'nie rezygnuję', 'zapisz mnie na wtorek', 'dzięki za pomoc'],
    ],
    [
      'Swedish, Danish and Norwegian',
      ['Avsluta', 'AVREGISTRERA', 'Afmeld', 'avmeld', 'STOPP'],
      ['starta', 'tilmeld', 'påmeld'],
      ['hjälp', 'HJÆLP', 'hjelp'],
      ['avsluta mötet', 'afmeld mig fra kurset', 'stopp ved porten', 'tack för hjälpen'],
    ],
    [
      'Russian',
      ['СТОП', 'Отписаться'],
      ['старт'],
      ['Помощь'],
      ['стоп, подожди', 'как отписаться?', 'на старт', 'спасибо за помощь'],
    ],
    [
      'Chinese',
      ['退订', '退訂', '停止。'],
      ['订阅', '訂閱'],
      ['帮助', '幫助'],
      ['停止营业了吗', '怎么退订', '谢谢你的帮助', '取消'],
    ],
    [
      'Japanese',
      ['配信停止', '停止'],
      ['配信開始'],
      ['ヘルプ'],
      ['停止線で', '配信停止はどうしますか', 'ヘルプデスク'],
    ],
    [
      'Ukrainian',
      ['відписатися', 'Стоп'],
      ['підписатися'],
      ['допомога'],
      ['хочу відписатися', 'стоп, зачекай'],
    ],
    [
      'Czech, Slovak and Croatian',
      ['Odhlásit', 'ODHLASIT', 'zrušit', 'odhlásiť', 'odjava'],
      ['přihlásit', 'prijava'],
      ['pomoct', 'pomôcť'],
      ['zrušit objednávku', 'chci se odhlásit', 'odjava sobe u 10'],
    ],
    ['Hungarian', ['Leiratkozás', 'leiratkozom'], ['feliratkozás'], ['segítség'], ['nem leiratkozom']],
    ['Romanian', ['DEZABONARE'], ['abonare'], ['ajutor'], ['abonare la sală']],
    ['Finnish', ['Lopeta!', 'peruuta'], ['aloita'], ['apua'], ['lopeta jo', 'peruuta aika']],
    ['Greek', ['ΣΤΟΠ', 'Διαγραφή'], ['έναρξη'], ['βοήθεια'], ['στοπ στη γωνία']],
    ['Turkish', ['İptal', 'RET'], ['başla'], ['yardım'], ['iptal ettim', 'dur bakalım']],
    ['Hebrew', ['הסר', 'הסירו'], ['הצטרף'], ['עזרה'], ['הסר את השולחן']],
    ['Arabic', ['توقف', 'إلغاء'], ['ابدأ'], ['مساعدة'], ['توقف هنا']],
    ['Hindi', ['बंद', 'रोकें'], ['शुरू'], ['मदद'], ['दुकान बंद है']],
    ['Vietnamese', ['HUY', 'hủy'], ['bắt đầu'], ['trợ giúp'], ['hủy lịch hẹn']],
    ['Indonesian and Malay', ['Berhenti'], ['mulai'], ['bantuan'], ['berhenti di sini']],
    ['Thai', ['ยกเลิก'], ['เริ่ม'], ['ช่วยเหลือ'], ['ยกเลิกนัด']],
    ['Korean', ['수신거부', '수신 거부!'], ['수신동의'], ['도움말'], ['수신거부 안 했어요', '도움말 어디']],
  ])('E4 knows the words of %s and no longer text', (_language, stop, start, help, nearMisses) => {
    const meanings = (texts: readonly string[]) => new Set(texts.map(optOutWord));
    expect(meanings(stop)).toEqual(new Set(['stop']));
    expect(meanings(start)).toEqual(new Set(['start']));
    expect(meanings(help)).toEqual(new Set(['help']));
    expect(nearMisses.filter((text) => optOutWord(text) !== undefined)).toEqual([]);
  });
});
