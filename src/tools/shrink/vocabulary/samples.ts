// Texts with every script and many kinds of characters, on which two tokenizers are compared. A text in a
// single language contains few of them.

const inNormalForm = (texts: readonly string[]): readonly string[] =>
  texts.map((text) => text.normalize('NFC'))

/** Ordinary texts, in the normal form NFC, to which most tokenizers convert. */
export const WRITTEN: readonly string[] = inNormalForm([
  '\t\r\n  \n\n\n   \u00a0\u3000\u200b\u200d\ufeff end',
  '👩‍👩‍👧‍👦🏳️‍🌈 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 漢字かな交じり文 한국어 العربية עברית हिन्दी ไทย Ελληνικά Русский',
  'x = {"a": [1, 2.5e-10, null]}; // 12345678901234567890\n\tif (a <= b && !c) { return -d; }',
  "It's what they'VE said, isn't it? WE'LL see: camelCaseWords and HTTPServer, 3.14159 of 2,000,000!\n\n\n  end",
])

/** The ordinary texts, and characters in Unicode order. */
export const SAMPLES: readonly string[] = [
  ...WRITTEN,
  ...inNormalForm([
    ...Array.from({ length: 0x30 }, (_, row) =>
      Array.from({ length: 64 }, (_, column) => String.fromCodePoint(0x20 + row * 997 + column * 13)).join(
        '',
      ),
    ),
    Array.from({ length: 0x250 - 0x20 }, (_, at) => String.fromCodePoint(0x20 + at)).join(''),
  ]),
]
