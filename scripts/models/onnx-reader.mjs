// Reads from an ONNX file the nodes and constant tensors that converting weights needs.
//
// Reads protobuf without a library, and skips unknown fields. The field numbers are those of onnx.proto3
// (https://github.com/onnx/onnx).

const MODEL = { graph: 7 }
const GRAPH = { node: 1, initializer: 5 }
const NODE = { input: 1, output: 2, name: 3, type: 4 }
const TENSOR = { dims: 1, type: 2, floats: 4, int32s: 5, int64s: 7, name: 8, raw: 9 }
/** The bytes of an element and its typed array, by ONNX's number of the type. */
const TYPES = new Map([
  [1, Float32Array],
  [2, Uint8Array],
  [3, Int8Array],
  [6, Int32Array],
  [7, BigInt64Array],
])

/**
 * The fields of a message: number, and an integer or a view of bytes. Throws RangeError for a truncated
 * message.
 */
function* fieldsOf(bytes) {
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new RangeError('the ONNX file ends early; download it again')
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return value
    }
    throw new RangeError('the ONNX file has a number of more than 64 bits; download it again')
  }
  const view = (length) => {
    if (at + length > bytes.length) throw new RangeError('the ONNX file ends early; download it again')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const key = Number(varint())
    const field = key >>> 3
    switch (key & 7) {
      case 0:
        yield [field, varint()]
        break
      case 1:
        yield [field, view(8)]
        break
      case 2:
        yield [field, view(Number(varint()))]
        break
      case 5:
        yield [field, view(4)]
        break
      default:
        throw new RangeError(`the ONNX file has a field of wire type ${key & 7}; download it again`)
    }
  }
}

const text = (bytes) => new TextDecoder().decode(bytes)

function nodeOf(bytes) {
  const node = { inputs: [], outputs: [], name: '', type: '' }
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === NODE.input) node.inputs.push(text(value))
    if (field === NODE.output) node.outputs.push(text(value))
    if (field === NODE.name) node.name = text(value)
    if (field === NODE.type) node.type = text(value)
  }
  return node
}

/** Packed or single varints. */
function integers(value) {
  if (typeof value === 'bigint') return [value]
  const found = []
  let shift = 0n
  let sum = 0n
  for (const byte of value) {
    sum |= BigInt(byte & 127) << shift
    shift += 7n
    if (byte < 128) {
      found.push(sum)
      shift = 0n
      sum = 0n
    }
  }
  return found
}

function tensorOf(bytes) {
  const dims = []
  const numbers = []
  let name = ''
  let type = 0
  let raw
  let floats
  for (const [field, value] of fieldsOf(bytes)) {
    if (field === TENSOR.dims) dims.push(...integers(value).map(Number))
    if (field === TENSOR.type) type = Number(value)
    if (field === TENSOR.name) name = text(value)
    if (field === TENSOR.raw) raw = value
    if (field === TENSOR.floats) floats = value
    if (field === TENSOR.int32s || field === TENSOR.int64s) numbers.push(...integers(value))
  }
  const Values = TYPES.get(type)
  if (Values === undefined) return { name, dims, values: undefined }
  const data = raw ?? floats
  if (data === undefined) {
    const convert =
      Values === BigInt64Array ? (x) => BigInt.asIntN(64, x) : (x) => Number(BigInt.asIntN(32, x))
    return { name, dims, values: Values.from(numbers, convert) }
  }
  // A copy, because an array of floats must be 4-byte aligned.
  const values = new Values(new Uint8Array(data).buffer)
  const count = dims.reduce((product, size) => product * size, 1)
  if (values.length !== count) {
    throw new RangeError(
      `the tensor ${name} has only ${values.length} of ${count} values; download the file again`,
    )
  }
  return { name, dims, values }
}

/** `nodes` in order, and `tensors` by name. */
export function readOnnx(bytes) {
  const nodes = []
  const tensors = new Map()
  for (const [field, graph] of fieldsOf(bytes)) {
    if (field !== MODEL.graph) continue
    for (const [part, value] of fieldsOf(graph)) {
      if (part === GRAPH.node) nodes.push(nodeOf(value))
      if (part !== GRAPH.initializer) continue
      const tensor = tensorOf(value)
      tensors.set(tensor.name, tensor)
    }
  }
  return { nodes, tensors }
}
