// PEFT adapters of every kind. In: small models, adapters whose numbers are derived from
// their names. Out: PEFT's logits in float64, or an error that names the unsupported setting.
//
// golden/ has the expected logits. make.py writes them and lists the versions that it needs.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { ALL_READERS, openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { writePack } from '../../../src/core/formats/hbm/hbm-writer.ts'
import { openAdapter } from '../../../src/core/formats/open-adapter.ts'
import { packContents } from '../../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { hubFolder, jsonFile, newFile } from '../testing/model-files.ts'
import { largestDifference, logitsOf, withBuilt } from '../testing/node-engine.ts'
import { type StoredTensor, safetensorsBytes } from '../testing/writers/safetensors-writer.ts'
import { type Row, tensorsOf } from '../transformers/weights.ts'

interface Model {
  readonly config: { readonly vocab_size: number }
  readonly tensors: readonly Row[]
}

/** `base`: PEFT stores the model's own table under this name. Others: the tensor of that name. */
type AdapterRow =
  | Row
  | readonly [string, readonly number[], 'base', 0]
  | readonly [string, readonly number[], 'same' | 'turned', string]

interface Case {
  readonly name: string
  readonly model: string
  /** adapter_config.json without its unset keys. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly tensors: readonly AdapterRow[]
  /** Text in the error. */
  readonly refusal: string | null
  /** By position: base64 of f32, little endian. */
  readonly logits?: Readonly<Record<string, string>>
}

const { models, cases }: { models: Record<string, Model>; cases: readonly Case[] } = JSON.parse(
  readFileSync(new URL('./golden/peft.json', import.meta.url), 'utf8'),
)

const POSITIONS = 40
/** The largest difference among the compared logits, relative to the largest of them. */
const BOUND = 1e-5

const f32 = (shape: readonly number[], values: Float32Array): StoredTensor => ({
  dtype: 'F32',
  shape,
  data: new Uint8Array(values.buffer),
})

/** The transposed tensor, with the transposed shape. */
function turned({ data }: StoredTensor, shape: readonly number[]): StoredTensor {
  const [rows = 0, columns = 0] = shape
  const values = new Float32Array(Uint8Array.from(data).buffer)
  return f32(
    shape,
    Float32Array.from(values, (_, at) => values[(at % columns) * rows + Math.floor(at / columns)]!),
  )
}

function modelTensors({ tensors }: Model): Record<string, StoredTensor> {
  return Object.fromEntries(
    [...tensorsOf(tensors)].map(({ name, shape, values }) => [name, f32(shape, values)]),
  )
}

function adapterFiles({ settings, tensors }: Case, base: Readonly<Record<string, StoredTensor>>): File[] {
  const isDrawn = (row: AdapterRow): row is Row => typeof row[2] === 'number'
  const stored = modelTensors({ config: { vocab_size: 0 }, tensors: tensors.filter(isDrawn) })
  for (const row of tensors) {
    if (isDrawn(row)) continue
    const [name, shape, how, other] = row
    const own = name.replace(/^base_model\.model\.|\.base_layer/g, '')
    if (how === 'base') stored[name] = base[own] ?? base[own.replace('lm_head', 'model.embed_tokens')]!
    else stored[name] = how === 'same' ? stored[other]! : turned(stored[other]!, shape)
  }
  return [
    newFile('adapter_model.safetensors', safetensorsBytes(stored)),
    jsonFile('adapter_config.json', settings),
  ]
}

const OPTIONS = { contextLength: 64, weights: 'f32', kvCache: { k: 'f32', v: 'f32' } } as const

const tokensFor = ({ config }: Model): number[] =>
  Array.from({ length: POSITIONS }, (_, i) => (37 * i + ((i * i) % 11) + 1) % config.vocab_size)

async function rowsOf(one: Case): Promise<Float32Array[]> {
  const model = models[one.model]!
  const tensors = modelTensors(model)
  const lora = [{ source: adapterFiles(one, tensors), scale: 1 }]
  return withBuilt(hubFolder(model.config, tensors), { ...OPTIONS, lora }, (built) =>
    logitsOf(built, tokensFor(model)),
  )
}

/** The model with the adapter merged into a pack, without a separate adapter file. */
async function packRows(one: Case): Promise<Float32Array[]> {
  const model = models[one.model]!
  const tensors = modelTensors(model)
  const sources = (files: readonly File[]) => files.map((file) => blobSource(file.name, file))
  const adapter = await openAdapter(sources(adapterFiles(one, tensors)), ALL_READERS)
  const prepared = await prepareModel(await openModel(sources(hubFolder(model.config, tensors))), {
    weights: 'f32',
    adapters: [{ adapter, scale: 1 }],
  })
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(await packContents(prepared))) chunks.push(new Uint8Array(chunk))
  return withBuilt([new File(chunks, 'model.hbm')], OPTIONS, (built) => logitsOf(built, tokensFor(model)))
}

const computed = cases.filter(({ logits }) => logits !== undefined)
const refused = cases.filter(({ logits }) => logits === undefined)

test('there are at least 40 kinds, of 6 models', () => {
  expect(Object.keys(models)).toHaveLength(6)
  expect(computed.length).toBeGreaterThanOrEqual(40)
  expect(refused.length).toBeGreaterThanOrEqual(5)
})

describe("an adapter of PEFT gives PEFT's logits", () => {
  test.each(computed)('$name ($model)', async (one) => {
    const rows = await rowsOf(one)
    let largest = 0
    let difference = 0
    for (const [position, text] of Object.entries(one.logits!)) {
      const right = new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)
      const row = rows[Number(position)]!
      expect(row).toHaveLength(right.length)
      for (const [id, logit] of right.entries()) {
        largest = Math.max(largest, Math.abs(logit))
        difference = Math.max(difference, Math.abs(row[id]! - logit))
      }
    }
    expect(difference / largest).toBeLessThan(BOUND)
  })
})

test.each(['a tied table', 'DoRA of a tied table', 'whole modules'])(
  '%s gives the same logits in a pack',
  async (name) => {
    const one = cases.find((each) => each.name === name)!
    expect(largestDifference(await packRows(one), await rowsOf(one))).toBe(0)
  },
)

describe('an adapter that only PEFT supports is rejected, and the error names its setting', () => {
  test.each(refused)('$name ($model)', async (one) => {
    const error = await rowsOf(one).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(isHalfbyteError(error) ? error.message : error).toContain(one.refusal)
  })
})
