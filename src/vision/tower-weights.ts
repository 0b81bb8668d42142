// Finds the tensors of a vision tower in an mmproj file.
import { checkShape, refuseStrangers, requireTensor, type Weights } from '../arch/tensors/names.ts'
import { changedRows } from '../arch/tensors/row-table.ts'
import { readVector } from '../formats/dequantize.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { TensorInfo } from '../formats/tensors.ts'
import { type Tower, towerRows } from './tower.ts'

/** The tensors by their names in the graphs of the tower and of the projector. */
export interface TowerWeights {
  readonly tower: Weights
  readonly projector: Weights
}

/** What each name is in the file; N is the layer. */
const MODULES: readonly (readonly [name: string, gguf: string])[] = [
  ['attn_norm', 'ln1'],
  ['attn_q', 'attn_q'],
  ['attn_k', 'attn_k'],
  ['attn_v', 'attn_v'],
  ['attn_output', 'attn_out'],
  ['mlp_norm', 'ln2'],
]

/** Tensors of other tasks, and the end of a tower whose last layers are not read. */
const UNUSED = /^(t\.|mm\.(?:model\.)?image_newline|model\.image_newline|v\.head)/

/**
 * Reads nothing yet. Throws `architecture` for a tensor that is missing or of another shape, `unsupported`
 * for tensors that the graphs would ignore.
 */
export function towerWeights(file: ModelFile, tower: Tower): TowerWeights {
  const { hiddenSize, intermediateSize, patchSize, layers, merge, width } = tower
  const used = new Set<string>()
  const stored = (name: string, shape: readonly number[]): TensorInfo => {
    const tensor = requireTensor(file, name)
    checkShape(file.name, tensor, shape)
    used.add(tensor.name)
    return tensor
  }
  const body = new Map<string, TensorInfo>()
  const both = (
    into: Map<string, TensorInfo>,
    name: string,
    gguf: string,
    shape: readonly number[],
  ): void => {
    into.set(`${name}.weight`, stored(`${gguf}.weight`, shape))
    into.set(`${name}.bias`, stored(`${gguf}.bias`, shape.slice(0, 1)))
  }
  const patch = stored('v.patch_embd.weight', [hiddenSize, 3, patchSize, patchSize])
  body.set('patch.weight', { ...patch, shape: [hiddenSize, 3 * patchSize * patchSize] })
  const places = stored('v.position_embd.weight', [towerRows(tower), hiddenSize])
  const bias = file.tensors.has('v.patch_embd.bias') ? stored('v.patch_embd.bias', [hiddenSize]) : undefined
  const own = tower.hasClass ? stored('v.class_embd', [hiddenSize]) : undefined
  body.set('positions.weight', positionTable(places, bias, own))
  if (tower.hasPreNorm) both(body, 'pre_norm', 'v.pre_ln', [hiddenSize])
  if (tower.hasPostNorm) both(body, 'post_norm', 'v.post_ln', [hiddenSize])
  for (let layer = 0; layer < layers; layer++) {
    const [at, from] = [`layers.${layer}`, `v.blk.${layer}`]
    for (const [name, gguf] of MODULES) {
      const shape = name.endsWith('norm') ? [hiddenSize] : [hiddenSize, hiddenSize]
      both(body, `${at}.${name}`, `${from}.${gguf}`, shape)
    }
    const isSwapped = swapsMlp(file, `${from}.ffn_up.weight`, tower)
    const [up, down] = isSwapped ? ['ffn_down', 'ffn_up'] : ['ffn_up', 'ffn_down']
    both(body, `${at}.mlp_up`, `${from}.${up}`, [intermediateSize, hiddenSize])
    both(body, `${at}.mlp_down`, `${from}.${down}`, [hiddenSize, intermediateSize])
  }
  const projector = new Map<string, TensorInfo>()
  if (tower.projector === 'idefics3') {
    projector.set('project.weight', stored('mm.model.fc.weight', [width, hiddenSize * merge * merge]))
  } else {
    both(projector, 'inner', 'mm.0', [width, hiddenSize])
    both(projector, 'project', 'mm.2', [width, width])
  }
  refuseStrangers(file, used, (name) => UNUSED.test(name), 'a vision tower of this kind')
  return { tower: body, projector }
}

/** Older files call the first product of the block `ffn_down` and the second `ffn_up`. */
const swapsMlp = ({ tensors }: ModelFile, up: string, { hiddenSize, intermediateSize }: Tower): boolean =>
  hiddenSize !== intermediateSize && tensors.get(up)?.shape[0] === hiddenSize

/**
 * What is added at each position, f32 [rows][hiddenSize]: the position's embedding and the bias of patches,
 * or at the first position the embedding of the class, whose patch is zeros.
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
