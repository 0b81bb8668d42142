// Finds the tensors of a vision tower in its file.
import { unbuiltVariant } from '../arch/config/fields.ts'
import { checkShape, refuseStrangers, requireTensor, type Weights } from '../arch/tensors/names.ts'
import { pieceOf } from '../arch/tensors/pieces.ts'
import { changedRows, readRows } from '../arch/tensors/row-table.ts'
import { filledSource } from '../base/bytes.ts'
import { readVector } from '../formats/dequantize.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { gatheredWidth, hasGates, isPlaced, type Tower, towerRows } from './tower.ts'

/** The tensors by their names in the graphs of the tower and of the projector. */
interface TowerWeights {
  readonly tower: Weights
  readonly projector: Weights
}

/** The modules of a layer; the first product of the feed-forward block is `mlp_up`. */
const MODULES = ['attn_norm', 'attn_q', 'attn_k', 'attn_v', 'attn_output', 'mlp_norm'] as const

/** The parts of a product that some files store as one tensor, in order. */
const THIRDS: readonly string[] = ['attn_q', 'attn_k', 'attn_v']

type Module =
  | (typeof MODULES)[number]
  | ('patch' | 'positions' | 'class' | 'pre_norm' | 'post_norm' | 'layers')
  | ('mlp_gate' | 'mlp_up' | 'mlp_down' | 'inner' | 'project' | 'merged' | 'pooled_norm' | 'pooled')

/** A format's names for a tower's tensors. */
export interface TowerNames {
  /**
   * `layers`: the prefix of a layer's number. `merged`, `pooled`: the projectors of squares and of their
   * means.
   */
  readonly names: Readonly<Record<Module, string>>
  /** Tensors for other tasks, and those at the end of a tower whose last layers are not read. */
  readonly unused: RegExp
}

/**
 * Reads no data yet. Throws `architecture` for a tensor that is missing or has a different shape,
 * `unsupported` for tensors that the graphs would ignore.
 */
export function towerWeights(file: ModelFile, tower: Tower, { names, unused }: TowerNames): TowerWeights {
  const { hiddenSize, intermediateSize, patchSize, layers } = tower
  const used = new Set<string>()
  const stored: Finders['stored'] = (name, shape) => {
    const tensor = requireTensor(file, name)
    checkShape(file.name, tensor, shape)
    used.add(tensor.name)
    return tensor
  }
  const body = new Map<string, TensorInfo>()
  const norm = (name: string, own: string): void => {
    body.set(`${name}.weight`, stored(`${own}.weight`, [hiddenSize]))
    if (!hasGates(tower)) body.set(`${name}.bias`, stored(`${own}.bias`, [hiddenSize]))
  }
  const both: Finders['both'] = (into, name, own, shape) => {
    into.set(`${name}.weight`, stored(`${own}.weight`, shape))
    into.set(`${name}.bias`, stored(`${own}.bias`, shape.slice(0, 1)))
  }
  /** One of the three parts of a product that is stored as one tensor. */
  const thirdOf = (part: number, name: string, own: string): void => {
    const third = (kind: string, shape: readonly number[]): void => {
      const whole = stored(`${own}.${kind}`, [3 * hiddenSize, ...shape.slice(1)])
      const runs = [[part * hiddenSize, hiddenSize]] as const
      body.set(`${name}.${kind}`, pieceOf(whole, { tensor: whole.name, runs }, shape))
    }
    third('weight', [hiddenSize, hiddenSize])
    third('bias', [hiddenSize])
  }
  const sides = [patchSize, patchSize]
  if (isPlaced(tower)) body.set('patch.weight', frameSum(tower, framesOf(file, tower, names.patch, stored)))
  else {
    const patch = stored(`${names.patch}.weight`, [hiddenSize, 3, ...sides])
    body.set('patch.weight', { ...patch, shape: [hiddenSize, 3 * patchSize * patchSize] })
    const places = stored(`${names.positions}.weight`, [towerRows(tower), hiddenSize])
    const patchBias = `${names.patch}.bias`
    const bias = file.tensors.has(patchBias) ? stored(patchBias, [hiddenSize]) : undefined
    const own = tower.hasClass ? stored(names.class, [hiddenSize]) : undefined
    body.set('positions.weight', positionTable(places, bias, own))
  }
  if (tower.hasPreNorm) norm('pre_norm', names.pre_norm)
  if (tower.hasPostNorm) norm('post_norm', names.post_norm)
  for (let layer = 0; layer < layers; layer++) {
    const at = `layers.${layer}`
    const from = `${names.layers}.${layer}`
    const thirds = names.attn_q === names.attn_k ? THIRDS : []
    for (const name of MODULES) {
      const own = `${from}.${names[name]}`
      const third = thirds.indexOf(name)
      if (name.endsWith('norm')) norm(`${at}.${name}`, own)
      else if (third < 0) both(body, `${at}.${name}`, own, [hiddenSize, hiddenSize])
      else thirdOf(third, `${at}.${name}`, own)
    }
    if (hasGates(tower))
      both(body, `${at}.mlp_gate`, `${from}.${names.mlp_gate}`, [intermediateSize, hiddenSize])
    const ordered = [names.mlp_up, names.mlp_down]
    const [up, down] = swapsMlp(file, `${from}.${names.mlp_up}.weight`, tower) ? ordered.reverse() : ordered
    both(body, `${at}.mlp_up`, `${from}.${up}`, [intermediateSize, hiddenSize])
    both(body, `${at}.mlp_down`, `${from}.${down}`, [hiddenSize, intermediateSize])
  }
  const projector = projectorWeights(file, tower, names, { stored, both })
  const isUnread = (name: string): boolean =>
    name.startsWith(`${names.layers}.`) && Number.parseInt(name.slice(names.layers.length + 1), 10) >= layers
  refuseStrangers(
    file,
    used,
    (name) => unused.test(name) || (file.format === 'safetensors' && isUnread(name)),
    'a vision tower of this kind',
  )
  return { tower: body, projector }
}

/** Finds a tensor of the file, or adds a product and its bias to the others. */
interface Finders {
  readonly stored: (name: string, shape: readonly number[]) => TensorInfo
  readonly both: (into: Map<string, TensorInfo>, name: string, own: string, shape: readonly number[]) => void
}

function projectorWeights(
  file: ModelFile,
  tower: Tower,
  names: TowerNames['names'],
  { stored, both }: Finders,
): Map<string, TensorInfo> {
  const { hiddenSize, merge, width } = tower
  const projector = new Map<string, TensorInfo>()
  if (tower.projector === 'idefics3') {
    projector.set('project.weight', stored(`${names.merged}.weight`, [width, hiddenSize * merge * merge]))
  } else if (tower.projector === 'gemma3') {
    const norm = stored(names.pooled_norm, [hiddenSize])
    // transformers stores the weight minus 1.
    const place = file.format === 'safetensors' ? { change: { scale: 1, offset: 1 } } : {}
    projector.set('pooled_norm.weight', pieceOf(norm, { tensor: norm.name, ...place }, [hiddenSize]))
    projector.set('project.weight', transposed(file.name, stored(names.pooled, [hiddenSize, width])))
  } else {
    const inputs = gatheredWidth(tower)
    const inner = isPlaced(tower) ? inputs : width
    both(projector, 'inner', names.inner, [inner, inputs])
    both(projector, 'project', names.project, [width, inner])
  }
  return projector
}

/** The weights of a patch in two frames: one tensor [hiddenSize, 3, 2, side, side], or one per frame. */
function framesOf(
  { tensors }: ModelFile,
  { hiddenSize, patchSize }: Tower,
  name: string,
  stored: Finders['stored'],
): TensorInfo[] {
  const first = `${name}.weight`
  const second = `${name}.weight.1`
  const sides = [patchSize, patchSize]
  if (!tensors.has(second)) return [stored(first, [hiddenSize, 3, 2, ...sides])]
  return [first, second].map((each) => stored(each, [hiddenSize, 3, ...sides]))
}

/** f32 [hiddenSize][channel, y, x]. Both frames of an image are the same, so their weights are added. */
function frameSum({ hiddenSize, patchSize }: Tower, frames: readonly TensorInfo[]): TensorInfo {
  const area = patchSize * patchSize
  const width = 3 * area
  const storedWidth = (2 * width) / frames.length
  const { name, source: own } = frames[0] as TensorInfo
  const byteLength = hiddenSize * width * 4
  const source = filledSource(own.name, byteLength, async (target, offset, signal) => {
    const begin = Math.floor(offset / 4 / width)
    const count = Math.ceil((offset + target.length) / 4 / width) - begin
    const read = (frame: TensorInfo) =>
      readRows({ ...frame, shape: [hiddenSize, storedWidth] }, begin, count, signal)
    const [first, second] = (await Promise.all(frames.map(read))) as [Float32Array, Float32Array | undefined]
    const values = new Float32Array(count * width)
    for (let i = 0; i < values.length; i++) {
      const at = second === undefined ? i + Math.floor(i / area) * area : i
      values[i] = first[at]! + (second === undefined ? first[at + area]! : second[i]!)
    }
    const skipped = offset - begin * width * 4
    target.set(new Uint8Array(values.buffer).subarray(skipped, skipped + target.length))
  })
  return { name, dtype: 'F32', shape: [hiddenSize, width], offset: 0, byteLength, source }
}

/** A matrix that is stored as [inputs, outputs]. Throws `unsupported` if it is quantised. */
function transposed(file: string, tensor: TensorInfo): TensorInfo {
  if (BLOCKS[tensor.dtype].elements > 1)
    throw unbuiltVariant(file, `${tensor.name} in ${tensor.dtype}`, 'the matrix in F32, F16 or BF16')
  return pieceOf(tensor, { tensor: tensor.name, form: 'transposed' }, tensor.shape.toReversed())
}

/** Whether a file swaps the names of the two products of the block. */
const swapsMlp = ({ tensors }: ModelFile, up: string, { hiddenSize, intermediateSize }: Tower): boolean =>
  hiddenSize !== intermediateSize && tensors.get(up)?.shape[0] === hiddenSize

/**
 * The vectors added at each position, f32 [rows][hiddenSize]: the position's embedding plus the bias of
 * patches. At the first position, whose patch is zeros, the class embedding takes the bias's place.
 */
function positionTable(places: TensorInfo, bias?: TensorInfo, own?: TensorInfo): TensorInfo {
  const [rows = 0, width = 0] = places.shape
  return changedRows(places, 0, rows, async (values, row, signal) => {
    const added = bias && (await readVector(bias, signal))
    const start = own && row === 0 ? await readVector(own, signal) : undefined
    for (let i = 0; i < values.length; i++) {
      const other = start !== undefined && i < width ? start : added
      values[i] = values[i]! + (other?.[i % width] ?? 0)
    }
  })
}
