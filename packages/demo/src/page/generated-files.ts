import type { UploadedFile } from './types.ts';

// Generates images and sounds, so that the demo needs no media files.

export const STICKERS = ['star', 'heart', 'bike', 'wave'] as const;
export type StickerName = (typeof STICKERS)[number];

const SIZE = 120;
const cache = new Map<string, UploadedFile>();

export function stickerFile(name: StickerName): UploadedFile {
  return cached(`${name}.png`, (file) => drawn(file, SIZE, SIZE, (context) => DRAWINGS[name](context)));
}

/** Returns the URL of a sticker by its file name. The Mac names the agent's stickers after the SHA-256 of what the CRM sent. */
export function stickerUrl(fileName: string): string | undefined {
  const name = STICKERS.find((candidate) => fileName.startsWith(`${candidate}.`));
  if (name !== undefined) return `data:image/png;base64,${stickerFile(name).base64}`;
  const [, hash] = /^sticker-([0-9a-f]{16,})/.exec(fileName) ?? [];
  return hash && `./media/${hash}/${encodeURIComponent(fileName)}`;
}

export function pictureFile(): UploadedFile {
  return cached('sunset.png', (file) => drawn(file, 480, 320, drawSunset));
}

export const VOICE_MS = 1800;

export function voiceFile(): UploadedFile {
  return cached('hello.wav', (name) => ({ name, mime: 'audio/wav', base64: base64Of(chime()) }));
}

export async function readFile(file: File): Promise<UploadedFile> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, mime: file.type || 'application/octet-stream', base64: base64Of(bytes) };
}

function cached(name: string, generate: (name: string) => UploadedFile): UploadedFile {
  const file = cache.get(name) ?? generate(name);
  cache.set(name, file);
  return file;
}

function drawn(
  name: string,
  width: number,
  height: number,
  draw: (context: CanvasRenderingContext2D) => void,
): UploadedFile {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = canvas.getContext('2d');
  if (context !== null) draw(context);
  return { name, mime: 'image/png', base64: canvas.toDataURL('image/png').split(',')[1] ?? '' };
}

const DRAWINGS: Record<StickerName, (context: CanvasRenderingContext2D) => void> = {
  star(context) {
    const star = new Path2D();
    for (let point = 0; point < 10; point++) {
      const radius = point % 2 === 0 ? 48 : 22;
      const angle = (point * Math.PI) / 5 - Math.PI / 2;
      star.lineTo(60 + radius * Math.cos(angle), 64 + radius * Math.sin(angle));
    }
    star.closePath();
    sticker(context, star, '#ffc53d');
  },
  heart(context) {
    const heart = new Path2D('M60 104C10 70 12 22 40 20c12-1 18 8 20 16 2-8 8-17 20-16 28 2 30 50-20 84z');
    sticker(context, heart, '#ff4f79');
  },
  bike(context) {
    const bike = new Path2D('M30 80 46 48h28l16 32M46 48l16 32 12-32M30 80h32M72 36h10M40 44h12');
    for (const x of [30, 90]) {
      bike.moveTo(x + 18, 80);
      bike.arc(x, 80, 18, 0, Math.PI * 2);
    }
    outline(context, bike, '#fff', 16);
    outline(context, bike, '#0f6b5c', 7);
  },
  wave(context) {
    const wave = new Path2D('M14 62q12-20 23 0t23 0 23 0 23 0M14 86q12-20 23 0t23 0 23 0 23 0');
    outline(context, wave, '#fff', 20);
    outline(context, wave, '#2f8fff', 10);
  },
};

function sticker(context: CanvasRenderingContext2D, shape: Path2D, colour: string): void {
  outline(context, shape, '#fff', 14);
  context.fillStyle = colour;
  context.fill(shape);
}

function outline(context: CanvasRenderingContext2D, shape: Path2D, colour: string, width: number): void {
  Object.assign(context, { strokeStyle: colour, lineWidth: width, lineJoin: 'round', lineCap: 'round' });
  context.stroke(shape);
}

function drawSunset(context: CanvasRenderingContext2D): void {
  const sky = context.createLinearGradient(0, 0, 0, 220);
  for (const [stop, colour] of [
    [0, '#2b3a67'],
    [0.5, '#c86b85'],
    [1, '#ffb677'],
  ] as const)
    sky.addColorStop(stop, colour);
  context.fillStyle = sky;
  context.fillRect(0, 0, 480, 220);
  context.fillStyle = '#fff1c1';
  context.beginPath();
  context.arc(330, 190, 46, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = '#1f4e5f';
  context.fillRect(0, 208, 480, 112);
  context.strokeStyle = '#ffd9a0';
  context.lineWidth = 3;
  for (let row = 0; row < 6; row++) {
    const half = 46 - row * 6;
    context.beginPath();
    context.moveTo(330 - half, 222 + row * 15);
    context.lineTo(330 + half, 222 + row * 15);
    context.stroke();
  }
  const bridge = new Path2D(
    'M0 214h480M60 214c40-90 200-90 240 0M100 214v-44M140 214v-62M180 214v-68M220 214v-62M260 214v-44',
  );
  outline(context, bridge, '#12202c', 7);
}

/** Returns two soft notes as a WAV file: 8 bits, 8 kHz, mono. */
function chime(): Uint8Array {
  const rate = 8000;
  const length = (rate * VOICE_MS) / 1000;
  const bytes = new Uint8Array(44 + length);
  const view = new DataView(bytes.buffer);
  const ascii = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at);
  ascii(0, 'RIFF');
  view.setUint32(4, 36 + length, true);
  ascii(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate, true);
  view.setUint16(32, 1, true);
  view.setUint16(34, 8, true);
  ascii(36, 'data');
  view.setUint32(40, length, true);
  for (let sample = 0; sample < length; sample++) {
    const second = sample / rate;
    const tone = (hertz: number, from: number) =>
      second < from ? 0 : Math.sin(2 * Math.PI * hertz * second) * Math.exp(-4 * (second - from));
    bytes[44 + sample] = 128 + Math.round(46 * (tone(523.25, 0) + tone(783.99, 0.45)));
  }
  return bytes;
}

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}
