// Runs networks for compare.py. In: a file with a graph and its inputs in each line. Out: a line for each,
// with its outputs or the error that rejected it.
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { isHalfbyteError } from '../../../../src/core/base/errors.ts'
import { Network, type NetworkTensor } from '../../../../src/node-network.ts'

interface Packed {
  readonly name: string
  readonly dtype: string
  readonly dims: readonly number[]
  readonly data: string
}

const ARRAYS: Readonly<Record<string, new (bytes: ArrayBuffer) => NetworkTensor['data']>> = {
  f16: Float32Array,
  f32: Float32Array,
  f64: Float64Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  bool: Uint8Array,
}

function unpacked({ dtype, dims, data }: Packed): NetworkTensor {
  const bytes = new Uint8Array(Buffer.from(data, 'base64'))
  return { dtype, dims, data: new ARRAYS[dtype]!(bytes.buffer) } as NetworkTensor
}

const packed = (name: string, { dtype, dims, data }: NetworkTensor): Packed => ({
  name,
  dtype,
  dims,
  data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
})

/** The reason for a rejection, without names and numbers. */
const kindOf = (message: string): string =>
  message
    .replace(/node \S+ \((\w+)\)/, 'node ($1)')
    .replace(/;.*/, '')
    .replace(/\b(v|c|in)\d+\b/g, 'it')
    .replace(/(it, )+it/g, 'it')
    .replace(/-?\d[\d.e+]*/g, 'N')

async function run(model: string, inputs: readonly Packed[]) {
  try {
    const network = await Network.load(new File([Buffer.from(model, 'base64')], 'model.onnx'))
    try {
      const made = await network.run(Object.fromEntries(inputs.map((each) => [each.name, unpacked(each)])))
      return { outputs: Object.entries(made).map(([name, tensor]) => packed(name, tensor)) }
    } finally {
      await network.dispose()
    }
  } catch (error) {
    if (isHalfbyteError(error))
      return { error: { code: error.code, message: error.message, kind: kindOf(error.message) } }
    return { error: { code: 'raw', message: String((error as Error).stack), kind: 'raw' } }
  }
}

for await (const line of createInterface({ input: createReadStream(process.argv[2]!) })) {
  const { model, inputs } = JSON.parse(line) as { model: string; inputs: readonly Packed[] }
  process.stdout.write(`${JSON.stringify(await run(model, inputs))}\n`)
}
