// The patterns that split text into words before merging, by the name that a GGUF file gives.
import { shown, unsupported } from '../spec.ts'

/** How text is split, and the defaults that a name implies. */
export interface PreTokenizer {
  /**
   * Applied in order, each to the pieces that the previous one made. Matches and the gaps between them both
   * become pieces.
   */
  readonly patterns: readonly RegExp[]
  readonly ignoreMerges?: boolean
  readonly addBos?: boolean
}

const CONTRACTION = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
const UPPER = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]'
const LOWER = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'

/** GPT-2's pattern, which ByteLevel in a tokenizer.json implies. */
export const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/** Llama 3's pattern. Models differ in how many digits form a piece. */
const withDigits = (digits: string) =>
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

/** Qwen 3.5's pattern: marks count as letters. */
const WITH_MARKS =
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|` +
  '\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'

/** Seed's pattern: line ends are not attached to what precedes them. */
const SEED =
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|` +
  '\\s+(?!\\S)|\\s+'

/** Jais 2 splits long runs of spaces at powers of two. */
const JAIS2 =
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|` +
  `${[512, 256, 128, 64, 32, 16, 8, 4].map((count) => `\\s{${count}}(?!\\S)`).join('|')}|` +
  '\\s{1,2}(?!\\S)|\\s'

/** Words are split at a change of case, as in GPT-4o; `ending` may follow a word. */
const withCase = (ending: string, digits: string) =>
  `[^\\r\\n\\p{L}\\p{N}]?${UPPER}*${LOWER}+${ending}|[^\\r\\n\\p{L}\\p{N}]?${UPPER}+${LOWER}*${ending}|` +
  `${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

/** The letters of DeepSeek's first tokeniser: cased letters, except those that its list omits. */
const DEEPSEEK_LETTERS =
  '(?:(?![\\u0560-\\u058F\\u10C6-\\u10FF\\u1C80-\\u1C8F\\u2D00-\\u2D2F\\uA790-\\uAB6F\\u{10500}-\\u{10C7F}' +
  '\\u{10D00}-\\u{1189F}\\u{16000}-\\u{1E8FF}])[\\p{Lu}\\p{Ll}\\p{Lt}\\u0295])'

const DEEPSEEK_V3_WORDS =
  '[!"#$%&\'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|' +
  ' ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+'
const BLOOM = ' ?[^(\\s|.,!?\\u2026\\u3002\\uFF0C\\u3001\\u0964\\u06D4\\u060C)]+'
const CJK = '[\\u4E00-\\u9FA5\\u0800-\\u4E00\\uAC00-\\uD7FF]+'
const CJK_KANA = '[\\u4E00-\\u9FA5\\u3040-\\u309F\\u30A0-\\u30FF]+'

interface Family {
  readonly names: string
  readonly patterns: readonly string[]
  readonly ignoreMerges?: boolean
  readonly addBos?: boolean
}

const FAMILIES: readonly Family[] = [
  { names: 'default', patterns: ['[\\p{P}$+<=>^~|]+', GPT2, '\\p{N}+', '[0-9][0-9][0-9]'] },
  {
    names: 'llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2',
    patterns: [withDigits('\\p{N}{1,3}')],
    ignoreMerges: true,
    addBos: true,
  },
  { names: 'dbrx smaug-bpe chatglm-bpe glm4', patterns: [withDigits('\\p{N}{1,3}')] },
  {
    names: 'qwen2 stablelm2 deepseek-r1-qwen megrez hunyuan grok-2 kormo solar-open',
    patterns: [withDigits('\\p{N}')],
  },
  {
    names:
      'gpt-2 phi-2 mpt olmo jais exaone4 trillion granite-docling gigachat mellum modern-bert ' +
      'roberta-bpe jina-v2-es jina-v2-de jina-v2-code',
    patterns: [GPT2],
  },
  {
    names: 'smollm starcoder refact command-r codeshell exaone minerva-7b',
    patterns: ['\\p{N}', GPT2],
  },
  { names: 'qwen35', patterns: [WITH_MARKS] },
  { names: 'seed-coder', patterns: [SEED] },
  { names: 'jais-2', patterns: [JAIS2] },
  { names: 'falcon', patterns: ['[\\p{P}$+<=>^~|`]+', GPT2, '[0-9][0-9][0-9]'] },
  {
    names: 'deepseek-llm',
    patterns: [
      '[\\r\\n]',
      `\\s?${DEEPSEEK_LETTERS}+`,
      '\\s?[!-/:-~\\uFF01-\\uFF0F\\uFF1A-\\uFF5E\\u2018-\\u201F\\u3000-\\u3002]+',
      '\\s+$',
      CJK,
      '\\p{N}+',
    ],
  },
  { names: 'deepseek-coder', patterns: ['[\\r\\n]', '\\s?\\p{L}+', '\\s?\\p{P}+', CJK, '\\p{N}'] },
  { names: 'deepseek-v3 hunyuan-dense joyai-llm', patterns: ['\\p{N}{1,3}', CJK_KANA, DEEPSEEK_V3_WORDS] },
  { names: 'bloom gpt3-finnish poro-chat', patterns: [BLOOM] },
  { names: 'viking', patterns: [BLOOM, '\\p{N}'] },
  { names: 'tekken', patterns: [withCase('', '\\p{N}')], ignoreMerges: true, addBos: true },
  { names: 'gpt-4o llama4 kanana2', patterns: [withCase(`(?:${CONTRACTION})?`, '\\p{N}{1,3}')] },
]

const BY_NAME = new Map(FAMILIES.flatMap((family) => family.names.split(' ').map((name) => [name, family])))

/** One name for each pattern; the one for files without a name comes last. */
export const preTokenizerNames = (): readonly string[] =>
  [...FAMILIES.slice(1), ...FAMILIES.slice(0, 1)].map(({ names }) => names.split(' ')[0]!)

/**
 * The pre-tokeniser with a GGUF name; `default` if the file names none. Throws `unsupported` for an unknown
 * name.
 */
export function preTokenizer(name = 'default'): PreTokenizer {
  const family = BY_NAME.get(name === '' ? 'default' : name)
  if (family === undefined) {
    throw unsupported(
      `uses the pre-tokeniser ${shown(name)}, which is not one of the ${BY_NAME.size} known ones`,
      "use the model's safetensors files, whose tokenizer.json defines it",
      { pre: name },
    )
  }
  const { patterns, ignoreMerges, addBos } = family
  return { patterns: patterns.map(compile), ignoreMerges, addBos }
}

/** The patterns mean Unicode's White_Space, from which JavaScript's \s differs in U+0085 and U+FEFF. */
export function unicodeSpace(pattern: string): string {
  return pattern.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}')
}

function compile(pattern: string): RegExp {
  return new RegExp(unicodeSpace(pattern), 'gu')
}

/** Splits `text` into non-empty pieces that join to `text`. */
export function cut(text: string, patterns: readonly RegExp[]): readonly string[] {
  let pieces: readonly string[] = [text]
  for (const pattern of patterns) {
    const next: string[] = []
    for (const piece of pieces) cutOnce(piece, pattern, next)
    pieces = next
  }
  return pieces
}

function cutOnce(text: string, pattern: RegExp, out: string[]): void {
  let from = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index > from) out.push(text.slice(from, match.index))
    if (match[0] !== '') out.push(match[0])
    from = match.index + match[0].length
  }
  if (from < text.length) out.push(text.slice(from))
}
