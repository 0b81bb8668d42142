// A model that never stops: the files of a small random Llama that generates meaningless Markdown.
import { Random } from '../test/helpers/random.ts'
import {
  gain,
  layersOf,
  type ModelFile,
  modelFolder,
  SHAPE,
  type Tensor,
  vocabularyOf,
} from './model-folder.ts'

export type { ModelFile } from './model-folder.ts'

/** Values in f16. */
const HALF = 0x3800
const SIXTEEN = 0x4c00

/** None of these ends an answer, and the files declare no end token, so any token may be sampled. */
const SPECIALS = ['<|pad|>', '<|bos|>', '<|turn|>', '<|user|>', '<|assistant|>', '<|system|>'].map(
  (content) => ({ content }),
)
/**
 * The only words that it generates, in the alphabet of byte-level BPE, where Ġ is a space and Ċ a line break.
 */
const WORDS = [
  ...' the a river fox moon bread old small and then over under sang walked slept quietly tomorrow'.split(
    ' ',
  ),
  ...' because nobody seven eleven lantern kettle orchard thunder whisper **bold** *soft* `code`'.split(' '),
  ...' [link](https://example.com) ~~gone~~ window harbour pepper violin marble feather'.split(' '),
]
  .filter((word) => word !== '')
  .map((word) => `Ġ${word}`)
  .concat(['.', ',', 'ĊĊ', 'ĊĊ##ĠThe', 'ĊĊ-Ġone', 'ĊĊ>Ġso', 'ĊĊ```ĊcodeĊ```ĊĊ', 'ĊĊ|Ġa|Ġb|Ċ|-|-|Ċ|Ġc|Ġd|ĊĊ'])

const TEMPLATE =
  "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '<|turn|>' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

/** `isMute`: the model loads, but its logits are not numbers. Default: false. */
export function endlessModel({ isMute = false } = {}): readonly ModelFile[] {
  const vocabulary = { specials: SPECIALS, words: WORDS }
  const vocab = vocabularyOf(vocabulary).length
  return modelFolder({ ...vocabulary, template: TEMPLATE, tensors: tensors(vocab, isMute) })
}

function tensors(vocab: number, isMute: boolean): Tensor[] {
  const { hidden } = SHAPE
  const random = halves()
  const fill = (length: number) => Uint16Array.from({ length }, () => random(-5))
  // The first channel has the same large value for every token. Words get most of their logit from it and
  // other tokens none, so words are about equally likely in any context, and each answer has blocks of all
  // kinds.
  const embedding = fill(vocab * hidden)
  const output = Uint16Array.from({ length: vocab * hidden }, (_, index) =>
    index < (vocab - WORDS.length) * hidden ? 0 : random(-5),
  )
  for (let row = 0; row < vocab; row++) {
    embedding[row * hidden] = SIXTEEN
    if (row >= vocab - WORDS.length) output[row * hidden] = HALF
  }
  return [
    { name: 'model.embed_tokens.weight', shape: [vocab, hidden], data: embedding },
    ...layersOf(fill),
    isMute ? notNumbers('model.norm.weight', hidden) : gain('norm'),
    { name: 'lm_head.weight', shape: [vocab, hidden], data: output },
  ]
}

function notNumbers(name: string, length: number): Tensor {
  const data = new Uint16Array(new Float32Array(length).fill(Number.NaN).buffer)
  return { name, shape: [length], dtype: 'F32', data }
}

/** Seeded f16 values with either sign, between 2^exponent and twice that. */
function halves(): (exponent: number) => number {
  const random = new Random(7)
  return (exponent) => {
    const word = random.word()
    return ((word >>> 31) << 15) | ((exponent + 15) << 10) | ((word >>> 16) & 0x3ff)
  }
}
