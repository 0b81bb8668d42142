// Target: tokenizers. In: tokenizer.json with its configuration and GGUF's vocabularies, changed, and texts.
// Out: ids of the text, and text of the ids.
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { JsonObject } from '../../../src/core/base/values.ts'
import { ggufTokenizer } from '../../../src/core/formats/gguf/tokenizer-data.ts'
import { readJson, withoutNulls } from '../../../src/core/formats/json-files.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { MetaValue } from '../../../src/core/formats/tensors.ts'
import { byteLevelSpec, jsonSpec, spmSpec } from '../../../src/core/text/testing/tiny.ts'
import { modelText, openTokenizer } from '../../../src/engine/load/model-text.ts'
import type { Random } from '../../helpers/random.ts'
import { bytesOf, type Input, textOf } from '../input.ts'
import { type Tree, textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { mutateText } from '../mutate/mutate-text.ts'
import type { Target } from '../target.ts'

export async function openTarget(): Promise<Target> {
  const json = JSON_TOKENIZERS.map(treeOf)
  const configs = CONFIGS.map(treeOf)
  const gguf = GGUF_TOKENIZERS.map((spec) => treeOf(metadataOf(spec)))
  return {
    draw(random): Input {
      const text = mutateText(random, random.pick(TEXTS), TEXTS)
      if (random.chance(0.35))
        return { kind: 'gguf', spec: textOfTree(mutateJson(random, random.pick(gguf), gguf)), text }
      const isConfig = random.chance(0.1)
      const tokenizer = random.pick(json)
      return {
        kind: 'json',
        spec: textOfTree(isConfig ? tokenizer : mutateJson(random, tokenizer, json)),
        config: drawConfig(random, configs, isConfig),
        text,
      }
    },
    run,
  }
}

const drawConfig = (random: Random, configs: readonly Tree[], isChanged: boolean): string =>
  textOfTree(isChanged ? mutateJson(random, random.pick(configs), configs) : random.pick(configs))

async function run(input: Input): Promise<string> {
  const spec = await jsonOf(input, 'spec')
  const config = input['config'] === undefined ? {} : await jsonOf(input, 'config')
  const file = {
    name: 'model',
    format: textOf(input, 'kind') === 'gguf' ? 'gguf' : 'safetensors',
    tokenizer:
      textOf(input, 'kind') === 'gguf'
        ? ggufTokenizer('model', new Map<string, MetaValue>(Object.entries(withoutNulls(spec))))
        : { kind: 'json', tokenizer: spec, config },
    generationConfig: { eos_token_id: [1, 2] },
  } as unknown as ModelFile
  const tokenizer = openTokenizer(file)
  const text = textOf(input, 'text')
  const ids = tokenizer.encode(text, { parseSpecial: true, addSpecial: true })
  tokenizer.encode(tokenizer.quote(text), { parseSpecial: true, continues: true })
  tokenizer.decode(ids, { special: true })
  for (const id of [...ids.slice(0, 20), 0, tokenizer.vocabSize, -1]) tokenizer.tokenText(id)
  modelText(tokenizer)
  return 'encoded'
}

const jsonOf = (input: Input, name: string): Promise<JsonObject> =>
  readJson(bufferSource(`${name}.json`, bytesOf(input, name)))

const METADATA_KEYS: Readonly<Record<string, string>> = {
  model: 'model',
  pre: 'pre',
  tokens: 'tokens',
  scores: 'scores',
  types: 'token_type',
  merges: 'merges',
  bosId: 'bos_token_id',
  eosId: 'eos_token_id',
  unknownId: 'unknown_token_id',
  addBos: 'add_bos_token',
  addEos: 'add_eos_token',
  addSpacePrefix: 'add_space_prefix',
}

function metadataOf(spec: object): Record<string, unknown> {
  const entries = Object.entries(spec).flatMap(([key, value]) => {
    const name = METADATA_KEYS[key]
    return name === undefined || value === undefined ? [] : [[`tokenizer.ggml.${name}`, value] as const]
  })
  return {
    ...Object.fromEntries(entries),
    'tokenizer.chat_template': '{{ bos_token }}{{ messages[0].content }}',
  }
}

/** The first tokens and the special ones. Later bytes are all handled the same way. */
function short(spec: ReturnType<typeof byteLevelSpec>): object {
  const keep = (_: unknown, id: number) => id < 24 || id >= 250
  const tokens = spec.tokens.filter(keep)
  const idOf = (id: number | undefined) =>
    id === undefined ? undefined : tokens.indexOf(spec.tokens[id] ?? '')
  return {
    ...spec,
    tokens,
    types: spec.types?.filter(keep),
    bosId: idOf(spec.bosId),
    eosId: idOf(spec.eosId),
    ...(spec.scores !== undefined && { scores: spec.scores.filter(keep) }),
    ...(spec.merges !== undefined && {
      merges: ['h e', 'l l', 'he ll'].filter((merge) =>
        merge.split(' ').every((part) => tokens.includes(part)),
      ),
    }),
  }
}

const GGUF_TOKENIZERS: readonly object[] = [
  short(byteLevelSpec()),
  short(byteLevelSpec({ pre: 'llama-bpe', addBos: true })),
  short(byteLevelSpec({ pre: 'qwen2' })),
  short(
    spmSpec(['\u2581', 'h', 'e', 'l', 'o', 'he', 'll', '\u2581he', '\u2581hello', ['x', -1e9]], {
      addSpacePrefix: true,
    }),
  ),
  byteLevelSpec(),
]

const { tokenizer: BYTE_LEVEL } = jsonSpec()
const SPLIT = (Regex: string) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })
const FEW = {
  h: 0,
  e: 1,
  l: 2,
  o: 3,
  he: 4,
  ll: 5,
  '\u2581': 6,
  '\u2581he': 7,
  '<0x0A>': 8,
  '<unk>': 9,
  Ġ: 10,
  ' ': 11,
}
const few = (changes: object = {}, model: object = {}) => ({
  added_tokens: [
    { id: 12, content: '<|im_end|>', special: true, lstrip: false, rstrip: true, normalized: false },
  ],
  normalizer: null,
  pre_tokenizer: null,
  post_processor: null,
  decoder: { type: 'ByteLevel' },
  model: { type: 'BPE', vocab: FEW, merges: ['h e', ['l', 'l'], '\u2581 he'], unk_token: '<unk>', ...model },
  ...changes,
})

const JSON_TOKENIZERS: readonly object[] = [
  BYTE_LEVEL,
  few({ pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, use_regex: true } }),
  few({
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        SPLIT("(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+"),
        { type: 'ByteLevel', use_regex: false },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ SpecialToken: { id: '<|im_end|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
      special_tokens: { '<|im_end|>': { id: '<|im_end|>', ids: [12], tokens: ['<|im_end|>'] } },
    },
  }),
  few(
    {
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '\u2581' },
          { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' },
        ],
      },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
    },
    { byte_fallback: true, fuse_unk: true },
  ),
  few({
    normalizer: { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
    pre_tokenizer: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'first', split: true },
    decoder: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'first' },
    added_tokens: [
      { id: 12, content: '<|im_end|>', special: true, normalized: true },
      { id: 13, content: '  ', special: false, normalized: true },
    ],
  }),
  few({
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Digits', individual_digits: true },
        { type: 'Punctuation', behavior: 'Isolated' },
        { type: 'Whitespace' },
        { type: 'WhitespaceSplit' },
        { type: 'ByteLevel' },
      ],
    },
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'NFKC' },
        { type: 'Lowercase' },
        { type: 'Strip', strip_left: true, strip_right: true },
        { type: 'StripAccents' },
      ],
    },
  }),
]

const CONFIGS: readonly object[] = [
  {},
  {
    bos_token: '<|im_end|>',
    eos_token: { content: '<|im_end|>' },
    add_bos_token: true,
    chat_template: '{{ messages[0].content }}',
  },
  {
    eos_token: '<|im_end|>',
    chat_template: [
      { name: 'default', template: '{{ bos_token }}' },
      { name: 'tool_use', template: 'x' },
    ],
  },
]

const TEXTS = [
  'hello world',
  "hello\n\n  world\t12345 don't HELLO",
  'h\u00e9llo 漢字 😀\ud83d <|im_end|>\nx',
  '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n',
  'a'.repeat(300),
  ' '.repeat(40),
  '\ufdd0\u2581\u2028\0\ufeff',
  '',
]
