// The table of families in docs/guide/models.md. In: the tables of families and their chats, and stored
// results of other programs. Out: a row per family. `node family-table.ts` writes the rows into the page.
import '../../../../scripts/test/rare-families.ts'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { FAMILIES, familyFile } from '../../../../src/core/arch/families.ts'
import { openModel } from '../../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../../src/core/base/errors.ts'
import { prepareModel } from '../../../../src/engine/load/prepare.ts'
import { type Row, tensorsOf } from '../../transformers/weights.ts'
import { hubFolder } from '../model-files.ts'
import type { StoredTensor } from '../writers/safetensors-writer.ts'
import { FAMILY_CHATS } from './family-chats.ts'

const ROOT = new URL('../../../../', import.meta.url)
const PAGE = new URL('docs/guide/models.md', ROOT)
const GOLDEN = new URL('test/conformance/transformers/golden/', ROOT)
const SIGHT = new URL('test/conformance/vision/golden/', ROOT)

interface Case {
  readonly config: { readonly architectures: readonly string[] }
  readonly tensors: readonly Row[]
}

const read = (url: URL) => readFileSync(url, 'utf8')
const casesIn = (name: string): readonly Case[] => JSON.parse(read(new URL(name, GOLDEN))).cases

/** A family's vision models: their display name and their stored results. */
const PICTURES: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  llama: [
    ['SmolVLM', 'smolvlm'],
    ['Idefics3', 'idefics3'],
    ['LLaVA', 'llava'],
  ],
  gemma3: [['Gemma 3', 'gemma3']],
  qwen2vl: [
    ['Qwen2-VL', 'qwen2vl'],
    ['Qwen2.5-VL', 'qwen2_5_vl'],
  ],
}

/** Whether a model's plan can be split between two workers; undefined if the model is too small. */
async function hasShards({ config, tensors }: Case): Promise<boolean | undefined> {
  const stored: Record<string, StoredTensor> = {}
  for (const { name, shape, values } of tensorsOf(tensors))
    stored[name] = { dtype: 'F32', shape, data: new Uint8Array(values.buffer) }
  const sources = hubFolder(config, stored).map((each) => blobSource(each.name, each))
  const prepared = await prepareModel(await openModel(sources), { weights: 'f32' })
  try {
    prepared.shardPlan([1, 1], 0)
    return true
  } catch (error) {
    if (!isHalfbyteError(error) || error.code !== 'unsupported') throw error
    return error.message.includes('use at most') ? undefined : false
  }
}

function shardsOf(cut: readonly (boolean | undefined)[]): string {
  if (cut.includes(true)) return cut.includes(false) ? 'some' : 'yes'
  return cut.includes(false) ? 'no' : ''
}

/** The cell with the keys of `named`, as code. */
const codes = (named: object = {}): string =>
  Object.keys(named)
    .map((name) => `\`${name.replaceAll('|', '\\|')}\``)
    .join(', ')

export async function familyTable(): Promise<string> {
  const cases = readdirSync(GOLDEN).flatMap(casesIn)
  const native = Object.keys(JSON.parse(read(new URL('test/conformance/golden/families.json', ROOT))))
  const rows: string[] = []
  for (const family of [...FAMILIES].sort()) {
    const { gguf, hf } = familyFile(family)
    const classes = Object.keys(hf.classes)
    const own = cases.filter(({ config }) => config.architectures.some((name) => classes.includes(name)))
    const cut = await Promise.all(own.map(hasShards))
    const seen = (PICTURES[family] ?? []).filter(([, file]) => existsSync(new URL(`${file}.json`, SIGHT)))
    const compared = [
      own.length + seen.length > 0 && 'transformers',
      native.includes(family) && 'llama.cpp',
    ].filter(Boolean)
    const cells = [
      `\`${family}\``,
      classes.map((name) => name.replace(/For(CausalLM|ConditionalGeneration)$|LMHeadModel$/, '')).join(', '),
      gguf.architecture === undefined ? '' : `\`${gguf.architecture}\``,
      seen.map(([name]) => name).join(', '),
      codes(FAMILY_CHATS[family]?.tools),
      codes(FAMILY_CHATS[family]?.thoughts),
      shardsOf(cut),
      compared.join(', ') || 'neither',
    ]
    rows.push(`| ${cells.join(' | ')} |`)
  }
  return [
    '| family | classes of transformers | in GGUF | pictures | tools | thoughts | shards | compared with |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const PARTS =
  /(?<=<!-- Families, written by family-table\.ts: begin -->\n)[\s\S]*?(?=\n<!-- Families: end -->)/

/** The table as written in the page. */
export const writtenTable = (): string => PARTS.exec(read(PAGE))?.[0] ?? ''

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const table = await familyTable()
  writeFileSync(
    PAGE,
    read(PAGE).replace(PARTS, () => table),
  )
}
