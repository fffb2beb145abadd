/** The example tables of ITU-T T.81, annex K, which all encoders use. */

const table = (text: string): Uint8Array => Uint8Array.from(text.trim().split(/\s+/), Number);

/** The position in the block of the n-th coefficient in the file. */
export const ZIGZAG = table(`
    0   1   8  16   9   2   3  10
   17  24  32  25  18  11   4   5
   12  19  26  33  40  48  41  34
   27  20  13   6   7  14  21  28
   35  42  49  56  57  50  43  36
   29  22  15  23  30  37  44  51
   58  59  52  45  38  31  39  46
   53  60  61  54  47  55  62  63
`);

const LUMINANCE = table(`
   16  11  10  16  24  40  51  61
   12  12  14  19  26  58  60  55
   14  13  16  24  40  57  69  56
   14  17  22  29  51  87  80  62
   18  22  37  56  68 109 103  77
   24  35  55  64  81 104 113  92
   49  64  78  87 103 121 120 101
   72  92  95  98 112 100 103  99
`);

const CHROMINANCE = table(`
   17  18  24  47  99  99  99  99
   18  21  26  66  99  99  99  99
   24  26  56  99  99  99  99  99
   47  66  99  99  99  99  99  99
   99  99  99  99  99  99  99  99
   99  99  99  99  99  99  99  99
   99  99  99  99  99  99  99  99
   99  99  99  99  99  99  99  99
`);

/** Quality 1–100 as libjpeg scales it. */
const scaled = (values: Uint8Array, quality: number): Uint8Array => {
  const factor = quality < 50 ? 5000 / quality : 200 - quality * 2;
  return values.map((value) => Math.min(255, Math.max(1, Math.floor((value * factor + 50) / 100))));
};

export const quantisation = (quality: number) => ({
  luminance: scaled(LUMINANCE, quality),
  chrominance: scaled(CHROMINANCE, quality),
});

export interface HuffmanTable {
  /** Class (0 for DC, 1 for AC) and number, as the file's header wants them in one byte. */
  id: number;
  counts: Uint8Array;
  symbols: Uint8Array;
  codes: Uint16Array;
  lengths: Uint8Array;
}

function huffman(id: number, counts: readonly number[], symbols: Uint8Array): HuffmanTable {
  const codes = new Uint16Array(256);
  const lengths = new Uint8Array(256);
  let code = 0;
  let next = 0;
  for (const [index, count] of counts.entries()) {
    for (let n = 0; n < count; n++) {
      const symbol = symbols[next++] ?? 0;
      codes[symbol] = code++;
      lengths[symbol] = index + 1;
    }
    code <<= 1;
  }
  return { id, counts: Uint8Array.from(counts), symbols, codes, lengths };
}

const DC_SYMBOLS = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);

export const DC_LUMINANCE = huffman(0x00, [0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], DC_SYMBOLS);
export const DC_CHROMINANCE = huffman(0x01, [0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], DC_SYMBOLS);

export const AC_LUMINANCE = huffman(
  0x10,
  [0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125],
  Buffer.from(
    '01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738' +
      '393a434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4' +
      'a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa',
    'hex',
  ),
);
export const AC_CHROMINANCE = huffman(
  0x11,
  [0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119],
  Buffer.from(
    '0001020311040521310612415107617113223281081442' +
      '91a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a434445464748494a535455565758595a636465' +
      '666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6' +
      'c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa',
    'hex',
  ),
);
