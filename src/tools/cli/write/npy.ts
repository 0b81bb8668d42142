// NumPy's .npy files: one tensor with its dtype and shape.
import { halfTable } from '../../../core/base/half.ts'
import { malformed } from '../../../core/formats/malformed.ts'
import type { NetworkTensor } from '../../../network/helpers/tensors.ts'
import { countOf, type NumberDType, zeros } from '../../../network/onnx/ir/tensor.ts'

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]
/** Bytes before the header of version 1: magic, version, length. */
const PREFIX = 10
const ALIGNMENT = 64

const DTYPES: ReadonlyMap<string, NumberDType> = new Map([
  ['f4', 'f32'],
  ['f8', 'f64'],
  ['f2', 'f16'],
  ['i1', 'i8'],
  ['u1', 'u8'],
  ['i2', 'i16'],
  ['u2', 'u16'],
  ['i4', 'i32'],
  ['u4', 'u32'],
  ['i8', 'i64'],
  ['u8', 'u64'],
  ['b1', 'bool'],
])

/** Throws `format` for anything other than a little-endian array in row order. */
export function readNpy(name: string, bytes: Uint8Array): NetworkTensor {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = (from: number, to: number) => new TextDecoder('latin1').decode(bytes.subarray(from, to))
  if (bytes.byteLength < PREFIX + 2 || MAGIC.some((byte, at) => bytes[at] !== byte))
    throw malformed(name, 'it does not begin like a .npy file')
  const isFirst = view.getUint8(6) === 1
  const start = isFirst ? PREFIX : PREFIX + 2
  const end = start + (isFirst ? view.getUint16(8, true) : view.getUint32(8, true))
  const header = text(start, end)
  const [, descr = ''] = /'descr': *'[<|]?(\w+)'/.exec(header) ?? []
  const dtype = DTYPES.get(descr)
  if (dtype === undefined || /'fortran_order': *True/.test(header))
    throw malformed(
      name,
      `its header is ${JSON.stringify(header.slice(0, 100).trim())}, which is not supported`,
    )
  const [, shape = ''] = /'shape': *\(([^)]*)\)/.exec(header) ?? []
  const dims = shape.split(',').flatMap((size) => (size.trim() === '' ? [] : [Number(size)]))
  if (!dims.every((size) => Number.isSafeInteger(size) && size >= 0))
    throw malformed(name, `its shape is invalid: (${shape.slice(0, 60)})`)
  const data = bytes.slice(end)
  const due = countOf(dims) * Number(descr.slice(1))
  if (data.byteLength !== due)
    throw malformed(name, `it has ${data.byteLength} bytes but its shape [${dims}] needs ${due}`)
  const made = zeros(dtype, dims)
  if (dtype === 'f16') {
    const patterns = new Uint16Array(data.buffer)
    for (let at = 0; at < patterns.length; at++) made.data[at] = halfTable()[patterns[at]!]!
  } else new Uint8Array(made.data.buffer).set(data)
  return made
}

/** Half floats are written as f32. */
export function npyBytes({ dtype, dims, data }: NetworkTensor): Uint8Array {
  const isHalf = dtype === 'f16' || dtype === 'bf16'
  const [descr] = [...DTYPES].find(([, each]) => each === (isHalf ? 'f32' : dtype)) ?? []
  const order = data.BYTES_PER_ELEMENT === 1 ? '|' : '<'
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(', ')
  const fields = `{'descr': '${order}${descr}', 'fortran_order': False, 'shape': (${shape}), }`
  const length = Math.ceil((PREFIX + fields.length + 1) / ALIGNMENT) * ALIGNMENT
  const header = `${fields.padEnd(length - PREFIX - 1)}\n`
  const bytes = new Uint8Array(length + data.byteLength)
  bytes.set(MAGIC)
  bytes.set([1, 0, header.length & 255, header.length >> 8], MAGIC.length)
  bytes.set(new TextEncoder().encode(header), PREFIX)
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), length)
  return bytes
}
