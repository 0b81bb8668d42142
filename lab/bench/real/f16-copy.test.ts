// Tests that an F16 copy of a quantised model has the same configuration and the same values.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { dequantize } from '../../../src/core/formats/dequantize.ts'
import { storedRows } from '../../../src/core/formats/dtypes.ts'
import { readGguf } from '../../../src/core/formats/gguf/gguf.ts'
import { randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { typedGguf } from '../../../test/conformance/testing/writers/typed-gguf.ts'
import { writeF16Copy } from './f16-copy.ts'

async function valuesOf(path: string) {
  const { metadata, tensors } = await readGguf(blobSource('model', new Blob([await readFile(path)])))
  const values = new Map<string, Float32Array>()
  for (const [name, { dtype, shape, source, offset, byteLength, coding }] of tensors) {
    const out = new Float32Array(shape.reduce((product, size) => product * size, 1))
    dequantize(storedRows(dtype, await source.read(offset, byteLength), coding), 0, out.length, out, 0)
    values.set(name, out)
  }
  return { metadata, values, dtypes: new Set([...tensors.values()].map(({ dtype }) => dtype)) }
}

test.each(['Q8_0', 'Q5_0', 'Q4_1'] as const)(
  'a copy has the configuration, the tokenizer and the values of a model in %s',
  async (dtype) => {
    const folder = await mkdtemp(join(tmpdir(), 'halfbyte-f16-'))
    const from = join(folder, 'model.gguf')
    const to = join(folder, 'copy.gguf')
    await writeFile(from, await (await typedGguf(randomLlama({ seed: 3 }), () => dtype)).bytes())
    await writeF16Copy(from, to)
    const model = await valuesOf(from)
    const copy = await valuesOf(to)
    await rm(folder, { recursive: true })
    expect(model.dtypes).toContain(dtype)
    expect(copy.dtypes).toEqual(new Set(['F16', 'F32']))
    expect(copy.metadata).toEqual(model.metadata)
    expect([...copy.values.keys()]).toEqual([...model.values.keys()])
    for (const [name, values] of model.values) {
      const found = copy.values.get(name)!
      for (const [index, value] of values.entries())
        expect(Math.abs(found[index]! - value)).toBeLessThanOrEqual(Math.abs(value) / 2048 + 2 ** -24)
    }
  },
)
