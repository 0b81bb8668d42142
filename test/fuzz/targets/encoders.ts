// Target: encoders. In: folders and GGUF files of sentence encoders, rerankers and their Dense modules, and
// unigram tokenizers, changed; texts. Out: ids, vectors or scores.
import { parseJson } from '../../../src/core/base/json.ts'
import { isObject } from '../../../src/core/base/values.ts'
import { malformed } from '../../../src/core/formats/malformed.ts'
import { encodePair, encoderTokenizer } from '../../../src/core/text/tokenize/read/encoder-tokenizer.ts'
import { Embedder } from '../../../src/encoders/embedder/embedder.ts'
import { loadEncoder } from '../../../src/encoders/service/build-encoder.ts'
import { createEmbedderService } from '../../../src/encoders/service/embed-service.ts'
import { localConnection } from '../../../src/engine/wire/connection.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import {
  bodyFolder,
  bodyGguf,
  type RandomBody,
  randomBody,
} from '../../conformance/encoders/random-bodies.ts'
import { denseFiles, randomDense } from '../../conformance/encoders/random-dense.ts'
import { bertFolder, bertGguf, randomBert } from '../../conformance/testing/random-bert.ts'
import type { Random } from '../../helpers/random.ts'
import { type GgufLayout, layoutOf } from '../gguf-layout.ts'
import { type Input, textOf } from '../input.ts'
import { type Tree, textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateBytes } from '../mutate/mutate-bytes.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { mutateText } from '../mutate/mutate-text.ts'
import type { Target } from '../target.ts'

const TEXTS = [
  'the cat',
  '  the running   cats ',
  '',
  'a',
  'é ﬁ Å ㌔ 😀 🏳️‍🌈 a\u0300\u0301',
  'the <mask> ☃\0',
  'x'.repeat(300),
]
const PIECES = [
  ...['<s>', '<pad>', '</s>', '<unk>', '<mask>', '▁', '▁the', '▁cat', 's', 'a', 'b', 'c'],
  ...['th', 'e', 'running', '▁run', '<0x41>', '😀'],
]
/** More texts would take longer than the files. */
const MAX_TOKENS = 64

/** A file of a folder: a JSON document, or safetensors in two parts. */
interface Part {
  readonly name: string
  readonly document: Tree
  /** The part after a safetensors header. */
  readonly data: Uint8Array | undefined
}

export async function openTarget(): Promise<Target> {
  const folders = await Promise.all(makeFolders().map((files) => Promise.all(files.map(partOf))))
  const ggufs = await makeGgufs()
  const map = charactersTable()
  const tokenizer = treeOf(unigram(map))
  const others = [tokenizer, ...folders.flat().map(({ document }) => document)]
  return {
    draw(random): Input {
      const texts = { text: mutateText(random, random.pick(TEXTS), TEXTS), other: random.pick(TEXTS) }
      const kind = random.unit()
      if (kind < 0.3)
        return { kind: 'unigram', spec: textOfTree(mutateJson(random, tokenizer, others)), ...texts }
      if (kind < 0.45) {
        const spec = JSON.stringify(unigram(mutateBytes(random, map, TABLE_FIELDS)))
        return { kind: 'unigram', spec, ...texts, text: `a${texts.text}` }
      }
      if (kind < 0.6) {
        const { bytes, fields, headBytes } = random.pick(ggufs)
        return { kind: 'files', '0/model.gguf': mutateBytes(random, bytes, fields, headBytes), ...texts }
      }
      return { kind: 'files', ...drawFolder(random, random.pick(folders), others), ...texts }
    },
    run: (input) => (textOf(input, 'kind') === 'unigram' ? runTokenizer(input) : runFiles(input)),
  }
}

function makeFolders(): (readonly File[])[] {
  const kinds = (['Bert', 'Roberta', 'XLMRoberta'] as const).flatMap((family) =>
    [false, true].map((isReranker) => bertFolder(randomBert(2, { isReranker, family }))),
  )
  const bert = randomBert(1)
  const dense = [...bertFolder(bert), ...denseFiles(randomDense(1, bert.config.hidden_size, 24))]
  return [...kinds, dense, ...BODIES.map((family) => bodyFolder(randomBody(family, 1)))]
}

const BODIES: readonly RandomBody['family'][] = ['qwen3', 'gemma']

async function makeGgufs(): Promise<GgufLayout[]> {
  const files = [
    ...[false, true].map((isReranker) => bertGguf(randomBert(3, { isReranker }))),
    ...BODIES.map((family) => bodyGguf(randomBody(family, 1), 1)),
  ]
  return Promise.all(files.map(async (file) => layoutOf(new Uint8Array(await (await file).arrayBuffer()))))
}

async function partOf(file: File): Promise<Part> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const isJson = file.name.endsWith('.json')
  const end = isJson ? bytes.length : 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true))
  const text = new TextDecoder().decode(bytes.subarray(isJson ? 0 : 8, end))
  return {
    name: file.name,
    document: treeOf(JSON.parse(text)),
    data: isJson ? undefined : bytes.subarray(end),
  }
}

/** A folder's files, up to two of them changed. Names include paths. */
function drawFolder(random: Random, parts: readonly Part[], others: readonly Tree[]): Input {
  const chosen = new Set(Array.from({ length: random.between(1, 2) }, () => random.below(parts.length)))
  const files = parts.map(({ name, document, data }, at): [string, string | Uint8Array] => {
    const isChanged = chosen.has(at)
    const isHeader = data === undefined || random.chance(0.7)
    const text = textOfTree(isChanged && isHeader ? mutateJson(random, document, others) : document)
    if (data === undefined) return [`${at}/${name}`, text]
    const file = safetensors(text, data)
    const head = file.length - data.length
    return [
      `${at}/${name}`,
      isChanged && !isHeader ? mutateBytes(random, file, [{ at: 0, bytes: 8 }], head) : file,
    ]
  })
  return Object.fromEntries(files)
}

function safetensors(header: string, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header)
  const bytes = new Uint8Array(8 + text.length + data.length)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true)
  bytes.set(text, 8)
  bytes.set(data, 8 + text.length)
  return bytes
}

/** Offset of the first child of the table's root. */
const CHILD = 0x101 ^ 0x61
const TABLE_FIELDS = [0, 1, 1 + CHILD, 1 + (CHILD ^ 2)].map((word) => ({ at: 4 * word, bytes: 4 as const }))

/** SentencePiece's table with one key, "a", which becomes "bb"; see characters-map.ts. */
export function charactersTable(): Uint8Array {
  const units = new Uint32Array(1024)
  units[0] = 0x101 << 10
  units[CHILD] = 0x61 | 0x100 | (2 << 10)
  units[CHILD ^ 2] = 0x80000000
  const texts = new TextEncoder().encode('bb\0ccc\0\0')
  const words = [Uint32Array.of(4 * units.length), units].map((part) => new Uint8Array(part.buffer))
  return new Uint8Array(Buffer.concat([...words, texts]))
}

export function unigram(map: Uint8Array) {
  const special = (id: number) => ({ SpecialToken: { id: PIECES[id], type_id: 0 } })
  const text = (id: string) => ({ Sequence: { id, type_id: 0 } })
  const ids = (id: number) => [PIECES[id], { id: PIECES[id], ids: [id], tokens: [PIECES[id]] }]
  return {
    model: {
      ...{ type: 'Unigram', unk_id: 3, byte_fallback: false },
      vocab: PIECES.map((piece, id) => [piece, id < 5 ? 0 : -id / 3]),
    },
    normalizer: {
      type: 'Sequence',
      normalizers: [
        { type: 'Precompiled', precompiled_charsmap: Buffer.from(map).toString('base64') },
        { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' },
      ],
    },
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true },
    added_tokens: [0, 1, 2, 3, 4].map((id) => ({
      ...{ id, content: PIECES[id], special: true, normalized: false },
      ...{ lstrip: id === 4, rstrip: false, single_word: false },
    })),
    post_processor: {
      type: 'TemplateProcessing',
      single: [special(0), text('A'), special(2)],
      pair: [special(0), text('A'), special(2), special(2), text('B'), special(2)],
      special_tokens: Object.fromEntries([ids(0), ids(2)]),
    },
  }
}

function runTokenizer(input: Input): string {
  const tokenizer = parsed(textOf(input, 'spec'))
  const { encode, pair, vocabSize } = encoderTokenizer({ kind: 'json', tokenizer, config: {} })
  const [first, second] = [encode(textOf(input, 'text')), encode(textOf(input, 'other'))]
  for (const id of [...first, ...second])
    if (!(Number.isInteger(id) && id >= 0 && id < vocabSize)) throw new Error(`id ${id} of ${vocabSize}`)
  if (pair !== undefined) encodePair(pair, first, second, MAX_TOKENS)
  return 'ids'
}

/** Does what the file readers do. */
function parsed(text: string) {
  try {
    const value = parseJson(text)
    if (isObject(value)) return value
  } catch {
    // The error is thrown below.
  }
  throw malformed('tokenizer.json', 'it is not a JSON object')
}

async function runFiles(input: Input): Promise<string> {
  const files = Object.entries(input)
    .filter(([name]) => name.includes('/'))
    .map(([name, part]) => new File([part as Uint8Array<ArrayBuffer>], name.replace(/^\d+\//, '')))
  const service = createEmbedderService((request, hooks) => loadEncoder(request, hooks, nodeHost()))
  const options = { threads: 1, maxTokens: MAX_TOKENS }
  await using embedder = await Embedder.open(localConnection(service), files, options)
  const [text, other] = [textOf(input, 'text'), textOf(input, 'other')]
  if (embedder.model.task === 'rerank') {
    await embedder.rerank(text, [other, text])
    return 'reranked'
  }
  const { vectors } = await embedder.embed([text, other])
  return vectors.every((vector) => vector.every(Number.isFinite)) ? 'embedded' : 'embedded, not finite'
}
