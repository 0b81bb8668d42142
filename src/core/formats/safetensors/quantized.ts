// Presents each quantised matrix of a safetensors model, stored in several tensors, as one tensor of a
// supported dtype.
import { HalfbyteError } from '../../base/errors.ts'
import { halfTable } from '../../base/half.ts'
import { isObject, type JsonObject } from '../../base/values.ts'
import { malformed, shown } from '../malformed.ts'
import type { TensorIndex, TensorInfo } from '../tensors.ts'
import { mxfp4 } from './mxfp4.ts'
import { floatsOf, type PackedInts, packedInts, unread, virtual } from './packed-ints.ts'
import { floatTensor, type StoredDType, type StoredIndex, type StoredTensor } from './safetensors.ts'
import { ternaryMatrix } from './ternary.ts'

/** The value of each of the 256 bytes. E4M3 has no infinities; E5M2 is the upper byte of an f16. */
function levelsOf(dtype: StoredDType): Float32Array {
  return Float32Array.from({ length: 256 }, (_, byte) => {
    if (dtype === 'I8') return (byte << 24) >> 24
    if (dtype === 'F8_E5M2') return halfTable()[byte << 8]!
    const exponent = (byte >>> 3) & 15
    const mantissa = byte & 7
    if ((byte & 127) === 127) return Number.NaN
    const size = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10)
    return byte > 127 ? -size : size
  })
}

/**
 * `scale` holds one scale for the whole matrix, per output, or per block of `block` [rows, columns]. Throws
 * `format` for any other shape.
 */
function scaledBytes(
  weight: StoredTensor,
  scale: StoredTensor | undefined,
  block: readonly number[] = [128, 128],
): TensorInfo {
  const { name, dtype, shape, source: file } = weight
  const [n = 1, k = 1] = shape
  const [down = 1, across = 1] = scale?.shape ?? []
  const a = down === 1 ? n : down === n ? 1 : (block[0] ?? 0)
  const b = across === 1 ? k : (block[1] ?? 0)
  if (shape.length !== 2 || Math.ceil(n / a) !== down || Math.ceil(k / b) !== across) {
    throw malformed(
      file.name,
      `the scales of ${shown(name)} [${shape}] are [${scale?.shape}], not one in total, one per row or one per block of [${block}]`,
    )
  }
  const levels = levelsOf(dtype)
  const read = async (offset: number, length: number, signal?: AbortSignal) => {
    const first = offset / (4 * k)
    const bytes = await file.read(weight.offset + offset / 4, length / 4, signal)
    const scales = scale && floatsOf(scale, await scale.source.read(scale.offset, scale.byteLength, signal))
    const out = new Float32Array(length / 4)
    for (let at = 0; at < out.length; ) {
      const row = Math.floor((first + at / k) / a) * across
      for (let i = 0; i < k; i++, at++) {
        out[at] = levels[bytes[at]!]! * (scales?.[row + Math.floor(i / b)] ?? 1)
      }
    }
    return new Uint8Array(out.buffer)
  }
  return { ...virtual(file.name, name, 'F32', shape, 4 * n * k, read), like: 'Q8_0' }
}

type Scheme = Omit<PackedInts, 'name' | 'codes' | 'scales' | 'zeros' | 'groupOf'>

/**
 * Scales of activations and caches, which Halfbyte quantises in its own way, and counts that are not needed.
 */
const IGNORED = /\.(input_scale|input_zero_point|output_scale|[kqv]_scale|weight_shape|position_ids)$/

/**
 * Makes `X.weight` from GPTQ's and AWQ's `X.qweight`, from compressed-tensors' `X.weight_packed`, and from
 * FP8 and INT8 with scales, and `X` from `X_blocks` in MXFP4. Plain tensors reveal which modules are not
 * quantised, so lists of ignored modules are not read. Throws `unsupported` for other formats, `format` for
 * tensors that do not belong together.
 */
export function unpackQuantized(file: string, stored: StoredIndex, config: unknown): TensorIndex {
  const settings = isObject(config) ? config : {}
  const left = new Map(stored)
  const tensors = new Map<string, TensorInfo>()
  const take = (name: string): StoredTensor | undefined => {
    const tensor = left.get(name)
    left.delete(name)
    return tensor
  }
  const need = (name: string): StoredTensor => {
    const tensor = take(name)
    if (tensor !== undefined) return tensor
    throw new HalfbyteError(
      'format',
      `${file}: a quantised matrix is missing ${shown(name)}; download the model again`,
    )
  }
  if (settings['quant_method'] === 'bitnet' && settings['quantization_mode'] === 'online') {
    throw unread(file, 'its weights are meant to be rounded to ternary values at run time', 'packed ones')
  }
  let scheme: Scheme | undefined
  for (const [name, tensor] of stored) {
    const [, matrices] = /^(.*)_blocks$/.exec(name) ?? []
    if (matrices !== undefined && tensor.dtype === 'U8') {
      left.delete(name)
      tensors.set(matrices, mxfp4(matrices, tensor, need(`${matrices}_scales`)))
      continue
    }
    const [, module, kind] = /^(.*)\.(qweight|weight_packed|weight)$/.exec(name) ?? []
    const isTernary = kind === 'weight' && tensor.dtype === 'U8' && settings['quant_method'] === 'bitnet'
    if (module === undefined || (kind === 'weight' && !isTernary && !/^(F8|I8)/.test(tensor.dtype))) continue
    const weight = `${module}.weight`
    left.delete(name)
    if (isTernary) {
      tensors.set(name, ternaryMatrix(tensor, need(`${weight}_scale`), settings))
      continue
    }
    if (kind === 'weight') {
      const scale = take(`${weight}_scale`) ?? take(`${weight}_scale_inv`)
      const block = settings['weight_block_size'] ?? weightsOf(settings)['block_structure']
      const isPair = Array.isArray(block) && block.every((size) => typeof size === 'number')
      tensors.set(name, scaledBytes(tensor, scale, isPair ? block : undefined))
      continue
    }
    scheme ??= schemeOf(file, settings)
    const isCt = kind === 'weight_packed'
    const scales = need(isCt ? `${weight}_scale` : `${module}.scales`)
    const zeros = take(isCt ? `${weight}_zero_point` : `${module}.qzeros`)
    const groupOf = take(isCt ? `${weight}_g_idx` : `${module}.g_idx`)
    // In compressed-tensors, the shape of a module's scales gives its group size. Symmetric modules have no
    // zero points.
    const own = isCt && {
      groupSize: (scheme.bits > 0 ? ((tensor.shape[1] ?? 0) * 32) / scheme.bits : 0) / (scales.shape[1] || 1),
      isSymmetric: zeros === undefined,
    }
    tensors.set(
      weight,
      packedInts({ name: weight, ...scheme, ...own, codes: tensor, scales, zeros, groupOf }),
    )
  }
  for (const [name, tensor] of left) if (!IGNORED.test(name)) tensors.set(name, floatTensor(tensor))
  return tensors
}

/** The weights' settings in `config_groups`, if all groups have the same number of bits. */
function weightsOf({ config_groups: groups }: JsonObject): JsonObject {
  const all = Object.values(isObject(groups) ? groups : {}).map(
    (group) => isObject(group) && group['weights'],
  )
  const [first = {}] = all
  const bits = (weights: unknown) => isObject(weights) && weights['num_bits']
  return isObject(first) && all.every((each) => bits(each) === bits(first)) ? first : {}
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : shown(value))

function schemeOf(file: string, config: JsonObject): Scheme {
  const method = textOf(config['quant_method'])
  const stated = method === 'gptq' ? 'checkpoint_format' : method === 'awq' ? 'version' : 'format'
  const layout = textOf(config[stated] ?? method)
  const number = (...keys: readonly string[]) => {
    const value = keys.map((key) => config[key]).find((each) => typeof each === 'number')
    return typeof value === 'number' ? value : 0
  }
  const bits = number('bits', 'w_bit')
  const groupSize = number('group_size', 'q_group_size')
  if (method === 'gptq' && /^gptq(_v2)?$/.test(layout)) {
    const isOrdered = config['desc_act'] !== true || groupSize < 1
    const zeroOffset = layout === 'gptq' ? 1 : 0
    return { order: 'gptq', bits, groupSize, isSymmetric: config['sym'] !== false, zeroOffset, isOrdered }
  }
  if (method === 'awq' && /^(awq|gemm)$/i.test(layout)) {
    return { order: 'awq', bits, groupSize, isSymmetric: false, zeroOffset: 0, isOrdered: true }
  }
  if (
    method === 'compressed-tensors' &&
    /^(pack-quantized|mixed-precision|compressed-tensors)$/.test(layout)
  ) {
    const { num_bits: own, actorder } = weightsOf(config)
    const isOrdered = actorder !== 'group' && actorder !== true
    const bits = typeof own === 'number' ? own : 0
    return { order: 'rows', bits, groupSize: 0, isSymmetric: true, zeroOffset: 0, isOrdered }
  }
  throw new HalfbyteError(
    'unsupported',
    `${file}: the weights are quantised as ${shown(`${method}, ${layout}`)}, but Halfbyte supports gptq, gptq_v2, AWQ's gemm, pack-quantized, int8, FP8 and MXFP4; use one of these, or a GGUF`,
    { method, layout },
  )
}
