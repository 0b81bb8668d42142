// Tests SentencePiece models. In: tokenizer.model files written here. Out: the ids that a GGUF with the same
// vocabulary gives, and a typed error for unsupported features.
import { PbfWriter } from 'pbf'
import { expect, test } from 'vitest'
import { safetensorsBytes } from '../../../../test/conformance/testing/writers/safetensors-writer.ts'
import { openModel } from '../../arch/open-model.ts'
import { bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import type { JsonObject } from '../../base/values.ts'
import { spmSpec } from '../../text/testing/tiny.ts'
import { createTokenizer } from '../../text/tokenize/read/create.ts'
import { readSentencePiece } from './sentencepiece.ts'

const SPEC = spmSpec(['▁', 'h', 'e', 'l', 'o', '▁h', 'll', '▁he', 'llo', '▁hello', '<tag>'])
const LAST = SPEC.tokens.length - 1

interface Fields {
  readonly type?: number
  readonly addsPrefix?: boolean
  readonly trims?: boolean
  readonly charsmap?: Uint8Array
  readonly bosId?: number
}

function modelBytes({ type = 2, addsPrefix, trims = false, charsmap, bosId }: Fields = {}): Uint8Array {
  const model = new PbfWriter()
  for (const [id, text] of SPEC.tokens.entries()) {
    const piece = new PbfWriter()
    piece.writeStringField(1, text)
    piece.writeFloatField(2, SPEC.scores![id]!)
    piece.writeVarintField(3, id === LAST ? 4 : SPEC.types![id]!)
    model.writeBytesField(1, piece.finish())
  }
  const trainer = new PbfWriter()
  trainer.writeVarintField(3, type)
  if (bosId !== undefined) trainer.writeVarintField(41, bosId)
  model.writeBytesField(2, trainer.finish())
  const normalizer = new PbfWriter()
  normalizer.writeStringField(1, 'identity')
  if (charsmap !== undefined) normalizer.writeBytesField(2, charsmap)
  if (addsPrefix !== undefined) normalizer.writeBooleanField(3, addsPrefix)
  normalizer.writeBooleanField(4, trims)
  model.writeBytesField(3, normalizer.finish())
  return model.finish()
}

const tokenizerOf = (fields: Fields = {}, config: JsonObject = {}) =>
  createTokenizer(readSentencePiece('tokenizer.model', modelBytes(fields), config))

test('texts get the same ids as from a GGUF with the same vocabulary', () => {
  const expected = createTokenizer({ ...SPEC, types: SPEC.types!.with(LAST, 4) })
  const own = tokenizerOf()
  for (const text of ['hello', 'hello hello  olle', ' é\n', 'a<tag>hello', '</s>'])
    for (const addSpecial of [true, false])
      expect(own.encode(text, { addSpecial }), text).toEqual(expected.encode(text, { addSpecial }))
  expect(own).toMatchObject({ bosId: 1, eosId: 2, addsBos: true, addsSpacePrefix: true })
  expect(own.decode(own.encode('hello é hello'))).toBe('hello é hello')
})

test('the model states whether a space is prepended, and that there is no BOS', () => {
  expect(tokenizerOf({ addsPrefix: false }).addsSpacePrefix).toBe(false)
  expect(readSentencePiece('m', modelBytes({ bosId: -1 })).bosId).toBeUndefined()
})

test('tokenizer_config.json adds tokens, names BOS and EOS, and has the template', () => {
  const added_tokens_decoder = {
    '1': { content: '<s>', special: true },
    [LAST + 1]: { content: '<|im_end|>', special: true },
    [LAST + 3]: { content: '<note>', special: false },
  }
  const config = {
    added_tokens_decoder,
    eos_token: '<|im_end|>',
    add_bos_token: false,
    chat_template: '{{ x }}',
  }
  const tokenizer = tokenizerOf({}, config)
  expect(tokenizer).toMatchObject({ eosId: LAST + 1, addsBos: false, chatTemplate: '{{ x }}' })
  expect(tokenizer.encode('hello<|im_end|>', { parseSpecial: true }).at(-1)).toBe(LAST + 1)
  expect(tokenizer.encode('<|im_end|>')).not.toContain(LAST + 1)
  expect(tokenizer.encode('<note>')).toEqual([LAST + 3])
})

test.each<[string, Fields, JsonObject, RegExp]>([
  ['a unigram model', { type: 1 }, {}, /the model type 1; only 2 \(BPE\) is supported/],
  ['a model that trims texts', { trims: true }, {}, /trimming spaces; give the model's tokenizer.json/],
  ['a model with a table of characters', { charsmap: new Uint8Array(4) }, {}, /normalises text/],
  ['an invalid added token', {}, { added_tokens_decoder: { x: {} } }, /added token "x"/],
])('%s is rejected', (_name, fields, config, message) => {
  expect(() => tokenizerOf(fields, config)).toThrow(message)
})

test('a folder without tokenizer.json uses tokenizer.model', async () => {
  const w = { dtype: 'F32' as const, shape: [2], data: new Uint8Array(8) }
  const files = [
    bufferSource('config.json', new TextEncoder().encode('{}')),
    bufferSource('model.safetensors', safetensorsBytes({ w })),
    bufferSource('tokenizer.model', modelBytes()),
    bufferSource('chat_template.jinja', new TextEncoder().encode('{{ y }}')),
  ]
  expect((await openModel(files)).tokenizer).toMatchObject({
    kind: 'gguf',
    model: 'llama',
    chatTemplate: '{{ y }}',
  })
  const json = bufferSource('tokenizer.json', new TextEncoder().encode('{"model":{}}'))
  expect((await openModel([...files, json])).tokenizer).toMatchObject({ kind: 'json' })
})

test('a file truncated at any byte is rejected unless it is still complete', () => {
  const bytes = modelBytes()
  for (let length = 0; length < bytes.length; length += 7) {
    try {
      createTokenizer(readSentencePiece('m', bytes.subarray(0, length)))
      throw new Error(`${length} bytes were accepted as a model`)
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
    }
  }
})
