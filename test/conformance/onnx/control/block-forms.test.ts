// Decoders whose product after attention is MatMulNBits, with `weights: 'f32'`. In: blocks of every width,
// with and without zero points, and with reordered inputs. Out: whether every product of the step reads f32
// rows and weights.
import { expect, test } from 'vitest'
import { bufferSource } from '../../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../../src/engine/load/prepare.ts'
import { byteTokenizer } from '../byte-tokenizer.ts'
import { openGraph } from '../open-graph.ts'
import { decoderBytes, vocabOf } from './decoder.ts'
import type { DecoderForm } from './form.ts'

const FORMS = ([2, 4, 8] as const).flatMap((bits) =>
  [16, 32, 64].flatMap((block) =>
    [false, true].flatMap((hasZeros) =>
      [false, true].map(
        (isMixed): NonNullable<DecoderForm['blocks']> => ({ bits, block, hasZeros, isMixed }),
      ),
    ),
  ),
)

async function stepOf(blocks: NonNullable<DecoderForm['blocks']>, weights: 'auto' | 'f32') {
  const form: DecoderForm = { attention: 'standard', places: 'rope', heads: 4, kvHeads: 2, blocks }
  const file = await openGraph([bufferSource('model.onnx', decoderBytes(form)), byteTokenizer(vocabOf(form))])
  const { plan } = await prepareModel(file, { weights })
  return plan.ops.map(({ name }) => name).filter((name) => /^(quantize|linear)/.test(name))
}

test.each(FORMS)('with weights f32, nothing is rounded: %j', async (blocks) => {
  expect([...new Set(await stepOf(blocks, 'f32'))]).toEqual(['linear_f32'])
})

test('without that option, codes are kept and rows are rounded', async () => {
  expect(await stepOf({ bits: 4, block: 32 }, 'auto')).toContain('quantize')
})
