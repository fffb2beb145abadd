/** The part of the canvas that a frame of an animation changes. */
export interface Patch {
  x: number;
  y: number;
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** A composed frame and how long it is shown. The pixels are overwritten by the next frame. */
export interface Frame {
  rgba: Uint8Array;
  delayMs: number;
}

/** The composed state of an animation. */
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

  /** `over` blends with the canvas by alpha, `replace` overwrites it. */
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
    const under = ((this.rgba[at + 3] ?? 0) * (255 - alpha)) / 255;
    const total = alpha + under;
    for (let channel = 0; channel < 3; channel++) {
      const upper = source[from + channel] ?? 0;
      const lower = this.rgba[at + channel] ?? 0;
      this.rgba[at + channel] = Math.round((upper * alpha + lower * under) / total);
    }
    this.rgba[at + 3] = Math.round(total);
  }
}
