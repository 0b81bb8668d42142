// What config.json and preprocessor_config.json of Qwen2-VL say about its vision tower.
//
// P. Wang and others, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
// Resolution", 2024.
import { type Fields, unbuiltVariant } from '../arch/config/fields.ts'
import type { ModelFile } from '../formats/readers.ts'
import { checkSteps, checkTower, PICTURE_STEPS, type Tower } from './tower.ts'
import type { TowerNames } from './tower-weights.ts'
import { pixelRange } from './whole-picture.ts'

export const QWEN_CLASS = 'Qwen2VLForConditionalGeneration'

const TOWER = {
  ...{ depth: 32, embed_dim: 1280, num_heads: 16, mlp_ratio: 4, hidden_act: 'quick_gelu' },
  ...{ patch_size: 14, spatial_merge_size: 2, temporal_patch_size: 2, in_channels: 3 },
}
const PROCESSOR = {
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_std: [0.26862954, 0.26130258, 0.27577711],
  ...{ resample: 3, patch_size: 14, merge_size: 2, temporal_patch_size: 2 },
}

interface Stated {
  readonly config: Fields
  readonly processor: Fields
  /** Of the option `imageTiles`. */
  readonly tiles: number | undefined
}

/** Throws `architecture` for impossible numbers, `unsupported` for what is not built. */
export function qwenTower(file: ModelFile, { config, processor: stated, tiles }: Stated): Tower {
  const vision = (config.record('vision_config') ?? config).renamed({}, TOWER)
  const processor = stated.renamed({}, PROCESSOR)
  const patchSize = vision.number('patch_size')
  const merge = vision.number('spatial_merge_size')
  refuseOthers(vision, processor)
  const hiddenSize = vision.number('embed_dim')
  const size = processor.record('size')
  const square = (patchSize * merge) ** 2
  const pixels = (key: string, edge: string, rows: number) =>
    processor.number(key, size?.number(edge, size.number(key, rows * square)) ?? rows * square)
  const range = pixelRange(
    { patchSize, merge },
    [pixels('min_pixels', 'shortest_edge', 4), pixels('max_pixels', 'longest_edge', 1280)],
    tiles,
  )
  return checkTower({
    ...{ name: file.name, projector: 'qwen2vl_merger', patchSize, merge, hiddenSize, ...range },
    layers: vision.number('depth'),
    heads: vision.number('num_heads'),
    intermediateSize: Math.trunc(hiddenSize * vision.number('mlp_ratio')),
    normEpsilon: 1e-6,
    activation: 'quick_gelu',
    projectorActivation: 'gelu_exact',
    ...{ hasClass: false, hasPreNorm: false, hasPostNorm: true },
    width: file.tensors.get(`${QWEN_NAMES.names.project}.weight`)?.shape[0] ?? 0,
    mean: processor.numberList('image_mean'),
    deviation: processor.numberList('image_std'),
    ...{ cut: 'whole', filter: 'bicubic', longestEdge: range.imageSize, shortestEdge: range.imageSize },
  })
}

/** Choices that other models of the class could have. */
function refuseOthers(vision: Fields, processor: Fields): void {
  const { file } = vision
  const check = (fields: Fields, key: string, wanted: number) => {
    const found = fields.number(key)
    if (found !== wanted) throw unbuiltVariant(file, `${key} ${found}`, `${key} ${wanted}`)
  }
  const activation = vision.text('hidden_act')
  if (activation !== 'quick_gelu') throw unbuiltVariant(file, `hidden_act ${activation}`, 'quick_gelu')
  check(vision, 'in_channels', 3)
  check(vision, 'temporal_patch_size', 2)
  check(processor, 'temporal_patch_size', 2)
  check(processor, 'patch_size', vision.number('patch_size'))
  check(processor, 'merge_size', vision.number('spatial_merge_size'))
  check(processor, 'resample', 3)
  checkSteps(processor, PICTURE_STEPS)
}

/** The names of tensors in transformers' files, without what stands before those of the tower. */
export const QWEN_NAMES: TowerNames = {
  names: {
    ...{ patch: 'patch_embed.proj', layers: 'blocks', attn_norm: 'norm1', mlp_norm: 'norm2' },
    ...{ attn_q: 'attn.qkv', attn_k: 'attn.qkv', attn_v: 'attn.qkv', attn_output: 'attn.proj' },
    ...{ mlp_up: 'mlp.fc1', mlp_down: 'mlp.fc2', post_norm: 'merger.ln_q' },
    ...{ inner: 'merger.mlp.0', project: 'merger.mlp.2' },
    // This kind of tower has none of these.
    ...{ positions: '', class: '', pre_norm: '', merged: '', pooled_norm: '', pooled: '' },
  },
  unused: /^$/,
}
