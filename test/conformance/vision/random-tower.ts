// Makes random vision towers, writes them as mmproj files, and computes their rows by definition in f64.
import { Random } from '../../helpers/random.ts'
import { newFile } from '../testing/model-files.ts'
import { f32Tensors, type GgufValue, ggufBytes } from '../testing/writers/gguf-writer.ts'

const PROJECTORS = ['idefics3', 'mlp', 'gemma3', 'qwen2vl_merger', 'qwen2.5vl_merger'] as const

export interface TowerShape {
  readonly projector: (typeof PROJECTORS)[number]
  /** Patches per side, pixels per side of a patch, and rows per side of a merged square. */
  readonly grid: number
  readonly patch: number
  readonly merge: number
  readonly heads: number
  readonly headDim: number
  readonly inner: number
  readonly layers: number
  /** Width of the language model's rows. */
  readonly width: number
  readonly activation: 'gelu' | 'quick_gelu' | 'silu'
  /**
   * Patches per side of a window, and the interval between layers whose patches attend to all others. For
   * Qwen2.5-VL.
   */
  readonly window: number
  readonly pattern: number
}

export interface RandomTower {
  readonly shape: TowerShape
  readonly weights: ReadonlyMap<string, { readonly shape: readonly number[]; readonly values: Float32Array }>
}

const EPSILON = 1e-5

const traitsOf = (projector: TowerShape['projector']) => ({
  isClip: projector === 'mlp',
  isQwen: projector.startsWith('qwen'),
  isWindowed: projector === 'qwen2.5vl_merger',
})

/** Sizes that are odd for kernels of 4, 8 and 32 lanes. */
export function randomTower(seed: number, fixed: Partial<TowerShape> = {}): RandomTower {
  const random = new Random(seed)
  const projector = fixed.projector ?? PROJECTORS[seed % 5]!
  const merge = fixed.merge ?? (projector === 'mlp' ? 1 : 2 + ((seed >> 2) % 2))
  const shape: TowerShape = {
    projector,
    merge,
    grid: merge * random.between(2, 4),
    patch: random.between(2, 7),
    heads: random.between(1, 3),
    headDim: 4 * random.between(2, 9),
    inner: random.between(20, 90),
    layers: random.between(1, 3),
    width: random.between(17, 70),
    activation: (['gelu', 'quick_gelu', 'silu'] as const)[(seed >> 1) % 3]!,
    window: merge * (1 + ((seed >> 1) % 3)),
    pattern: 1 + (seed % 3),
    ...(projector === 'qwen2.5vl_merger' && { activation: 'silu' }),
    ...fixed,
  }
  const weights = new Map<string, { shape: readonly number[]; values: Float32Array }>()
  const draw = (name: string, sizes: readonly number[], scale: number, middle = 0) => {
    const count = sizes.reduce((product, size) => product * size, 1)
    const values = Float32Array.from({ length: count }, () => middle + scale * random.signed())
    weights.set(name, { shape: sizes, values })
  }
  const linear = (name: string, n: number, k: number) => {
    draw(`${name}.weight`, [n, k], 1.7 / Math.sqrt(k))
    draw(`${name}.bias`, [n], 0.2)
  }
  const hidden = shape.heads * shape.headDim
  const { isClip, isQwen, isWindowed } = traitsOf(projector)
  const norm = (name: string) => {
    draw(`${name}.weight`, [hidden], 0.4, 1)
    if (!isWindowed) draw(`${name}.bias`, [hidden], 0.3)
  }
  draw('v.patch_embd.weight', [hidden, 3, shape.patch, shape.patch], 1 / shape.patch)
  if (isQwen) draw('v.patch_embd.weight.1', [hidden, 3, shape.patch, shape.patch], 1 / shape.patch)
  else {
    if (isClip) draw('v.class_embd', [hidden], 1)
    else draw('v.patch_embd.bias', [hidden], 0.5)
    draw('v.position_embd.weight', [shape.grid ** 2 + (isClip ? 1 : 0), hidden], 0.5)
  }
  norm(isClip ? 'v.pre_ln' : 'v.post_ln')
  for (let layer = 0; layer < shape.layers; layer++) {
    const at = `v.blk.${layer}`
    norm(`${at}.ln1`)
    for (const part of ['attn_q', 'attn_k', 'attn_v', 'attn_out']) linear(`${at}.${part}`, hidden, hidden)
    norm(`${at}.ln2`)
    if (isWindowed) linear(`${at}.ffn_gate`, shape.inner, hidden)
    linear(`${at}.ffn_up`, shape.inner, hidden)
    linear(`${at}.ffn_down`, hidden, shape.inner)
  }
  if (isClip) {
    linear('mm.0', shape.width, hidden)
    linear('mm.2', shape.width, shape.width)
  } else if (isQwen) {
    const merged = hidden * merge ** 2
    linear('mm.0', merged, merged)
    linear('mm.2', shape.width, merged)
  } else if (projector === 'gemma3') {
    draw('mm.soft_emb_norm.weight', [hidden], 0.4, 1)
    draw('mm.input_projection.weight', [hidden, shape.width], 1 / Math.sqrt(hidden))
  } else draw('mm.model.fc.weight', [shape.width, hidden * shape.merge ** 2], 1 / Math.sqrt(hidden))
  return { shape, weights }
}

/** `rename`: each tensor's name in the file. `change`: keys that replace the shape's own. */
export async function towerFile(
  { shape, weights }: RandomTower,
  { rename = (name: string) => name, change = {} as Record<string, GgufValue> } = {},
): Promise<File> {
  const { grid, patch, heads, headDim, inner, layers, merge, projector, activation, window, pattern } = shape
  const number = (key: string, value: number): [string, GgufValue] => [`clip.vision.${key}`, ['u32', value]]
  const metadata: Record<string, GgufValue> = {
    'general.architecture': ['string', 'clip'],
    'general.name': ['string', 'random tower'],
    'clip.has_vision_encoder': ['bool', true],
    'clip.projector_type': ['string', projector],
    'clip.use_gelu': ['bool', activation === 'gelu'],
    'clip.use_silu': ['bool', activation === 'silu'],
    ...Object.fromEntries([
      number('image_size', grid * patch),
      number('patch_size', patch),
      number('embedding_length', heads * headDim),
      number('feed_forward_length', inner),
      number('block_count', layers),
      number('attention.head_count', heads),
      number('projector.scale_factor', merge),
      number('spatial_merge_size', merge),
      number('image_max_pixels', (grid * patch) ** 2),
      ...(traitsOf(projector).isWindowed
        ? [number('n_wa_pattern', pattern), number('window_size', window * patch)]
        : []),
    ]),
    'clip.vision.attention.layer_norm_epsilon': ['f32', EPSILON],
    'clip.vision.image_mean': ['f32[]', [0.5, 0.4, 0.3]],
    'clip.vision.image_std': ['f32[]', [0.5, 0.25, 0.125]],
    ...change,
  }
  const tensors = f32Tensors(weights, rename)
  return newFile('mmproj-random.gguf', await ggufBytes({ metadata, tensors }))
}

const timesRows = (matrix: Float32Array, x: Float32Array): number[] =>
  Array.from({ length: matrix.length / x.length }, (_, n) =>
    x.reduce((sum, value, k) => sum + value * matrix[n * x.length + k]!, 0),
  )

/** Rotates a row's heads: the first half of the pairs by its row in the grid, the others by its column. */
function turn(row: Float64Array, m: number, { grid, heads, headDim }: TowerShape): void {
  const half = headDim / 2
  for (let head = 0; head < heads; head++) {
    for (let pair = 0; pair < half; pair++) {
      const isRow = pair < half / 2
      const place = isRow ? Math.floor(m / grid) : m % grid
      const angle = place / 10_000 ** ((2 * (pair % (half / 2))) / half)
      const low = head * headDim + pair
      const high = head * headDim + pair + half
      const a = row[low]!
      const b = row[high]!
      row[low] = a * Math.cos(angle) - b * Math.sin(angle)
      row[high] = b * Math.cos(angle) + a * Math.sin(angle)
    }
  }
}

/** x / 2 (1 + erf(x / sqrt(2))), the error function from its Taylor series. */
function exactGelu(x: number): number {
  const z = x / Math.SQRT2
  if (Math.abs(z) > 5) return z > 0 ? x : 0
  let term = z
  let sum = z
  for (let n = 1; n < 200; n++) {
    term *= (-z * z) / n
    sum += term / (2 * n + 1)
  }
  return (x / 2) * (1 + (2 / Math.sqrt(Math.PI)) * sum)
}

/** The language model's rows for an image, from its patches [patches][channel, y, x]. */
export function towerRowsOf(
  { shape, weights }: RandomTower,
  patches: readonly Float32Array[],
): Float64Array[] {
  const { heads, headDim: dim, layers, grid, merge, projector, activation } = shape
  const width = heads * dim
  const valuesOf = (name: string) => weights.get(name)!.values
  const product = (name: string, x: ArrayLike<number>, bias = true): Float64Array => {
    const { shape: sizes, values } = weights.get(`${name}.weight`)!
    const b = bias ? valuesOf(`${name}.bias`) : undefined
    return Float64Array.from({ length: sizes[0]! }, (_, n) => {
      let sum = b?.[n] ?? 0
      for (let k = 0; k < x.length; k++) sum += x[k]! * values[n * x.length + k]!
      return sum
    })
  }
  const norm = (name: string, x: Float64Array) => {
    if (isWindowed) {
      const size = Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / width + EPSILON)
      return x.map((value, i) => (value / size) * valuesOf(`${name}.weight`)[i]!)
    }
    const mean = x.reduce((sum, value) => sum + value, 0) / width
    const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width
    const [weight, bias] = [valuesOf(`${name}.weight`), valuesOf(`${name}.bias`)]
    return x.map((value, i) => ((value - mean) / Math.sqrt(variance + EPSILON)) * weight[i]! + bias[i]!)
  }
  const plus = (a: Float64Array, b: ArrayLike<number>) => a.map((value, i) => value + b[i]!)
  const gelu = (x: number) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))
  const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
  const windowOf = (m: number) =>
    Math.floor(Math.floor(m / grid) / shape.window) * grid + Math.floor((m % grid) / shape.window)
  const activate = {
    gelu,
    silu: (x: number) => x * sigmoid(x),
    quick_gelu: (x: number) => x * sigmoid(1.702 * x),
  }[activation]
  const { isClip, isQwen, isWindowed } = traitsOf(projector)
  const seen = patches.map((patch) => {
    const first = product('v.patch_embd', patch, !isClip && !isQwen)
    return isQwen ? plus(first, timesRows(valuesOf('v.patch_embd.weight.1'), patch)) : first
  })
  const all = isClip ? [Float64Array.from(valuesOf('v.class_embd')), ...seen] : seen
  let rows = all
  if (!isQwen) {
    const places = valuesOf('v.position_embd.weight')
    rows = all.map((row, m) => plus(row, places.subarray(m * width, (m + 1) * width)))
  }
  if (isClip) rows = rows.map((row) => norm('v.pre_ln', row))
  for (let layer = 0; layer < layers; layer++) {
    const at = `v.blk.${layer}`
    const normed = rows.map((row) => norm(`${at}.ln1`, row))
    const [q, k, v] = ['q', 'k', 'v'].map((part) => normed.map((x) => product(`${at}.attn_${part}`, x)))
    if (isQwen) for (const part of [q!, k!]) for (const [m, row] of part.entries()) turn(row, m, shape)
    rows = rows.map((row, m) => {
      const y = new Float64Array(width)
      for (let head = 0; head < heads; head++) {
        const inHead = Array.from({ length: dim }, (_, d) => head * dim + d)
        const isFull = !isWindowed || (layer + 1) % shape.pattern === 0
        const scores = k!.map((key, other) =>
          isFull || windowOf(other) === windowOf(m)
            ? inHead.reduce((sum, i) => sum + q![m]![i]! * key[i]!, 0) / Math.sqrt(dim)
            : Number.NEGATIVE_INFINITY,
        )
        const top = Math.max(...scores)
        const weighted = scores.map((score) => Math.exp(score - top))
        const total = weighted.reduce((sum, value) => sum + value, 0)
        for (const i of inHead) y[i] = weighted.reduce((sum, w, j) => sum + w * v![j]![i]!, 0) / total
      }
      const mixed = plus(row, product(`${at}.attn_out`, y))
      const normed = norm(`${at}.ln2`, mixed)
      const up = product(`${at}.ffn_up`, normed)
      const gate = isWindowed ? product(`${at}.ffn_gate`, normed) : up
      const inner = gate.map((value, i) => activate(value) * (isWindowed ? up[i]! : 1))
      return plus(mixed, product(`${at}.ffn_down`, inner))
    })
  }
  if (isClip) {
    return rows.slice(1).map((row) => product('mm.2', product('mm.0', row).map(gelu)))
  }
  const last = rows.map((row) => norm('v.post_ln', row))
  const pooled = (x: number, y: number): Float64Array => {
    const mean = new Float64Array(width)
    for (let dy = 0; dy < merge; dy++)
      for (let dx = 0; dx < merge; dx++)
        for (const [i, value] of last[(y + dy) * grid + x + dx]!.entries()) mean[i]! += value / merge ** 2
    const size = Math.sqrt(mean.reduce((sum, value) => sum + value * value, 0) / width + EPSILON)
    const normed = mean.map((value, i) => (value / size) * valuesOf('mm.soft_emb_norm.weight')[i]!)
    const matrix = valuesOf('mm.input_projection.weight')
    return Float64Array.from({ length: shape.width }, (_, n) =>
      normed.reduce((sum, value, k) => sum + value * matrix[k * shape.width + n]!, 0),
    )
  }
  const squares: Float64Array[] = []
  for (let y = 0; y < grid; y += merge) {
    for (let x = 0; x < grid; x += merge) {
      if (projector === 'gemma3') {
        squares.push(pooled(x, y))
        continue
      }
      const parts: number[] = []
      for (let dy = 0; dy < merge; dy++)
        for (let dx = 0; dx < merge; dx++) parts.push(...last[(y + dy) * grid + x + dx]!)
      if (isQwen) squares.push(product('mm.2', product('mm.0', parts).map(exactGelu)))
      else squares.push(product('mm.model.fc', parts, false))
    }
  }
  return squares
}
