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
});
