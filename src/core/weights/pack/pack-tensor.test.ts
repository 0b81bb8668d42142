import { expect, test } from 'vitest'
import { concat, ggufBytes } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomTensor } from '../../../../test/conformance/testing/writers/random-tensor.ts'
import { fixture } from '../../../../test/helpers/fixture.ts'
import { openModel } from '../../arch/open-model.ts'
import { type ByteSource, bufferSource } from '../../base/bytes.ts'
import { writePack } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { chooseEncoding } from '../choose-encoding.ts'
import type { WeightPolicy } from '../policy.ts'
import { packMatrix, packVector } from '../sparse/pack.ts'
import { streamMatrix, streamVector } from '../stream-weights.ts'
import { slotBytes } from '../testing/slot-bytes.ts'

async function load(tensor: TensorInfo, policy: WeightPolicy): Promise<Uint8Array> {
  const [n = 0, k = 0] = tensor.shape
  const parts = [{ tensor, n }]
  if (tensor.shape.length === 1) {
    const slot = new Uint8Array(Math.ceil(n / 32) * 128)
    await streamVector(parts, () => slot)
    return slot
  }
  const encoding = chooseEncoding(policy, 'matrix', [tensor.dtype])
  const slot = new Uint8Array(slotBytes(encoding, parts, k))
  await streamMatrix(parts, k, encoding, () => slot)
  return slot
}

/** Packs every tensor under its own name, opens the pack, and compares what loads from both. */
async function roundTrip(source: ByteSource, policy: WeightPolicy): Promise<number> {
  const model = await openModel([source])
  const tensors = [...model.tensors.values()].map((tensor) =>
    tensor.shape.length === 1
      ? packVector(tensor.name, tensor)
      : packMatrix(tensor.name, tensor, chooseEncoding(policy, 'matrix', [tensor.dtype])),
  )
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack({
    name: model.name,
    config: {},
    tokenizer: model.tokenizer,
    tensors,
  })) {
    chunks.push(chunk)
  }
  const pack = await openModel([bufferSource('x.hbm', concat(chunks))])
  // JSON has no -0, and the fixture's scores begin with one.
  const written = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))
  expect(written(pack.tokenizer)).toEqual(written(model.tokenizer))
  expect([...pack.tensors.keys()]).toEqual([...model.tensors.keys()])
  for (const tensor of model.tensors.values()) {
    const packed = pack.tensors.get(tensor.name)!
    expect(Buffer.compare(await load(packed, 'auto'), await load(tensor, policy)), tensor.name).toBe(0)
  }
  return model.tensors.size
}

test('a pack of every dtype loads like the file', async () => {
  const tensors = (['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0', 'Q4_1'] as const).map((dtype) => ({
    name: dtype,
    dtype,
    shape: [40, 64],
    data: () => randomTensor(dtype, [40, 64], 1),
  }))
  const file = bufferSource('x.gguf', await ggufBytes({ metadata: {}, tensors }))
  for (const policy of ['auto', 'f32', 'w8', 'w4'] as const) expect(await roundTrip(file, policy)).toBe(6)
})

for (const name of ['stories260K-f32.gguf', 'stories260K-mix-Q4_1.gguf', 'stories260K-mix-Q8_0.gguf']) {
  test(`a pack of ${name} loads as the file does`, async () => {
    expect(await roundTrip(bufferSource(name, fixture(`stories260k/${name}`)), 'w4')).toBe(48)
  })
}
