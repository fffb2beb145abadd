/** A picture of an animation that is laid over what the earlier ones left. */
export interface Patch {
  x: number;
  y: number;
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** A whole picture as it is seen, for so long. The pixels are only lent: the next frame overwrites them. */
export interface Frame {
  rgba: Uint8Array;
  delayMs: number;
}

/** What an animation shows at a moment; patches are laid over it, cleared and taken back. */
export class Canvas {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.rgba = new Uint8Array(width * height * 4);
  }

  contains({ x, y, width, height }: Omit<Patch, 'rgba'>): boolean {
    return width > 0 && height > 0 && x + width <= this.width && y + height <= this.height;
  }

  /** `over` lets what lies beneath shine through, `replace` does not. */
  draw(patch: Patch, blend: 'over' | 'replace'): void {
    this.#rows(patch, (at, from, length) => {
      if (blend === 'replace') this.rgba.set(patch.rgba.subarray(from, from + length), at);
      else for (let i = 0; i < length; i += 4) this.#over(at + i, patch.rgba, from + i);
    });
  }

  clear(area: Omit<Patch, 'rgba'>): void {
    this.#rows(area, (at, _, length) => this.rgba.fill(0, at, at + length));
  }

  copy(area: Omit<Patch, 'rgba'>): Patch {
    const rgba = new Uint8Array(area.width * area.height * 4);
    this.#rows(area, (at, to, length) => rgba.set(this.rgba.subarray(at, at + length), to));
    return { ...area, rgba };
  }

  #rows(area: Omit<Patch, 'rgba'>, visit: (at: number, from: number, length: number) => void): void {
    const length = area.width * 4;
    for (let row = 0; row < area.height; row++) {
      visit(((area.y + row) * this.width + area.x) * 4, row * length, length);
    }
  }

  #over(at: number, source: Uint8Array, from: number): void {
    const alpha = source[from + 3] ?? 0;
    if (alpha === 0) return;
    const beneath = ((this.rgba[at + 3] ?? 0) * (255 - alpha)) / 255;
    const total = alpha + beneath;
    for (let channel = 0; channel < 3; channel++) {
      const upper = source[from + channel] ?? 0;
      const lower = this.rgba[at + channel] ?? 0;
      this.rgba[at + channel] = Math.round((upper * alpha + lower * beneath) / total);
    }
    this.rgba[at + 3] = Math.round(total);
  }
}
