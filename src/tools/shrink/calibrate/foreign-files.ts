// Writes a compressed model's codes as GGUF or GPTQ safetensors, or pruned matrices as plain safetensors.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { readGguf } from '../../../core/formats/gguf/gguf.ts'
import { type NewTensor as GgufTensor, rewriteGguf } from '../../../core/formats/gguf/gguf-rewriter.ts'
import type { PackContents, PackTensor } from '../../../core/formats/hbm/hbm-writer.ts'
import {
  type NewTensor,
  readShards,
  writeSafetensors,
} from '../../../core/formats/safetensors/safetensors.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { blockDType, ggmlBlocks, gptqMatrix } from '../codes/foreign-codes.ts'
import { unlayMatrix } from '../codes/lay.ts'

const FORMATS: readonly string[] = ['w4_g32', 'w4m_g32', 'w8_g32', 'w4_channel'] satisfies Format[]

/** A tensor of codes, and its source tensor. */
interface Coded {
  readonly tensor: PackTensor
  readonly format: Format
  readonly n: number
  readonly k: number
  /** Its name in the model's own file. */
  readonly stored: string
}

/** Tables do not belong to a layer. */
const isOfLayer = ({ tensor }: Coded): boolean => tensor.name.startsWith('layers.')

/** The name in the model's file. Throws `unsupported` if a matrix is not a separate tensor there. */
function storedName({ file, weights }: PreparedModel, name: string): string {
  const own = weights.get(name)
  const stored = own && file.tensors.get(own.name)
  if (stored !== undefined && stored.source === own?.source && stored.byteLength === own.byteLength)
    return stored.name
  throw new HalfbyteError(
    'unsupported',
    `${name} is not a tensor of its own in ${file.name}: it is merged, transposed or quantised, or has an adapter; write a .hbm`,
    { matrix: name },
  )
}

function codedTensors(prepared: PreparedModel, { tensors }: PackContents): Coded[] {
  return tensors.flatMap((tensor) => {
    const { name, encoding, shape } = tensor
    if (!FORMATS.includes(encoding)) return []
    const [n = 0, k = 0] = shape
    return [{ tensor, format: encoding as Format, n, k, stored: storedName(prepared, name) }]
  })
}

async function matrixOf({ tensor, format, n, k }: Coded) {
  const bytes = new Uint8Array(tensor.bytes)
  let at = 0
  for await (const chunk of tensor.data()) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return unlayMatrix(bytes, format, n, k)
}

/**
 * The model's GGUF file with its matrices replaced by codes: Q4_0, Q4_1, Q8_0, and F32 if rows are not a
 * multiple of 32. Throws `unsupported` for models in another format or in several files.
 */
export async function* quantizedGguf(
  prepared: PreparedModel,
  contents: PackContents,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { file } = prepared
  const [first] = file.tensors.values()
  if (file.format !== 'gguf' || first === undefined)
    throw otherFormat(file.name, 'GGUF', 'is not a GGUF file, and other tokenizers cannot be written as GGUF')
  const coded = codedTensors(prepared, contents)
  const replaced = new Map(
    coded.map((each): [string, GgufTensor] => [
      each.stored,
      {
        dtype: blockDType(each.format, each.k),
        async *data() {
          yield ggmlBlocks(await matrixOf(each))
        },
      },
    ]),
  )
  const matrix = coded.find(isOfLayer)
  const mostly = blockDType(matrix?.format ?? 'w4_g32', 32)
  yield* rewriteGguf(await readGguf(first.source, signal), replaced, mostly, signal)
}

/** A folder's model: its weights, and the changes to config.json. */
export interface FolderModel {
  readonly config: Readonly<Record<string, unknown>>
  /** model.safetensors, as chunks. */
  readonly data: AsyncIterable<Uint8Array>
}

/**
 * The model's safetensors with `qweight`, `qzeros`, `scales` and `g_idx` instead of its matrices; tables and
 * vectors keep their bytes. Throws `unsupported` for models in another format and for matrices that GPTQ
 * cannot represent.
 */
export async function quantizedGptq(
  prepared: PreparedModel,
  contents: PackContents,
  signal: AbortSignal,
): Promise<FolderModel> {
  const stored = await storedTensors(prepared, 'GPTQ', signal)
  const coded = codedTensors(prepared, contents).filter(isOfLayer)
  const byName = new Map(coded.map((each) => [each.stored, each]))
  const tensors: NewTensor[] = []
  let scheme = { bits: 4, groupSize: 32 }
  for (const [name, tensor] of stored) {
    const own = byName.get(name)
    if (own === undefined) {
      tensors.push(copyOf(name, tensor, signal))
      continue
    }
    if (own.format !== coded[0]?.format) {
      throw new HalfbyteError(
        'unsupported',
        `${own.tensor.name} is ${own.format} and others are ${coded[0]?.format}, but a GPTQ model has a single format; choose --weights w4, or write a .gguf`,
      )
    }
    const { tensors: parts, bits, groupSize } = gptqMatrix(own.tensor.name, await matrixOf(own))
    scheme = { bits, groupSize }
    for (const [part, { dtype, shape, data }] of Object.entries(parts)) {
      const module = name.replace(/\.weight$/, '')
      tensors.push({ name: `${module}.${part}`, dtype, shape, bytes: data.length, data: () => [data] })
    }
  }
  return {
    config: {
      quantization_config: {
        quant_method: 'gptq',
        checkpoint_format: 'gptq',
        bits: scheme.bits,
        group_size: scheme.groupSize,
        sym: true,
        desc_act: false,
        lm_head: false,
      },
    },
    data: writeSafetensors(tensors, signal),
  }
}

/**
 * The model's safetensors with F32 rows for the matrices in `pruned`; everything else keeps its bytes.
 * Throws `unsupported` for models in another format.
 */
export async function prunedSafetensors(
  prepared: PreparedModel,
  pruned: ReadonlyMap<string, TensorInfo>,
  signal: AbortSignal,
): Promise<FolderModel> {
  const stored = await storedTensors(prepared, 'safetensors', signal)
  const byName = new Map([...pruned].map(([name, tensor]) => [storedName(prepared, name), tensor]))
  const tensors = [...stored].map(([name, tensor]) => {
    const own = byName.get(name)
    return own === undefined
      ? copyOf(name, tensor, signal)
      : copyOf(name, { ...own, dtype: 'F32', shape: tensor.shape }, signal)
  })
  return { config: {}, data: writeSafetensors(tensors, signal) }
}

/** The tensors of a folder's files. */
async function storedTensors({ file }: PreparedModel, what: string, signal: AbortSignal) {
  if (file.format !== 'safetensors')
    throw otherFormat(
      file.name,
      what,
      'is not a folder with safetensors, from which everything else is copied',
    )
  const sources = [...new Set([...file.tensors.values()].map(({ source }) => source))]
  return readShards(sources, undefined, signal)
}

function copyOf(
  name: string,
  {
    dtype,
    shape,
    source,
    offset,
    byteLength,
  }: Pick<NewTensor, 'dtype' | 'shape'> & Omit<TensorInfo, 'dtype'>,
  signal: AbortSignal,
): NewTensor {
  async function* data() {
    yield await source.read(offset, byteLength, signal)
  }
  return { name, dtype, shape, bytes: byteLength, data }
}

const otherFormat = (file: string, what: string, why: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `${file} ${why}; ${what} output needs a model in the same format; write a .hbm`,
  )
