// Scripted models: the files of a small Llama whose weights make it generate a marked thought, an answer and
// the end of its turn, regardless of the prompt.
import { gain, layersOf, type ModelFile, modelFolder, SHAPE, vocabularyOf } from './model-folder.ts'

/** Values in f16. */
const ONE = 0x3c00
const TWO = 0x4000

export const THOUGHT = Array.from({ length: 200 }, (_, index) => ` step${index}`)
export const ANSWER = ' So the river is wide and the boat is small .'
  .split(/(?= )/)
  .map((word, at) => `${word}${at}`)

const SPECIALS = [
  ...['<|pad|>', '<|bos|>', '<|turn|>', '<|user|>', '<|assistant|>', '<|system|>'].map((content) => ({
    content,
  })),
  ...['<think>', '</think>'].map((content) => ({ content, isText: true })),
]
const TURN = 2
/** Omits thoughts, as most templates do for earlier turns. */
const TEMPLATE =
  "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'].split('</think>')[-1].split('<think>')[0] + '<|turn|>' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

/** A model that generates `THOUGHT` and `ANSWER`. */
export const thinkingModel = (): readonly ModelFile[] => scriptedModel(THOUGHT, ANSWER)

/**
 * Each token of the reply has its own channel, which predicts the next token, so no token may occur twice.
 * Layers add zeros, so the reply is the same in any precision and with any sampling. Without `thought`, the
 * reply has only the answer. More `layers` make it slower.
 */
export function scriptedModel(
  thought: readonly string[],
  answer: readonly string[],
  layers: number = SHAPE.layers,
): readonly ModelFile[] {
  const { hidden } = SHAPE
  const words = [...thought, ...answer].map((word) => word.replace(' ', '\u0120'))
  const vocabulary = { specials: SPECIALS, words }
  const tokens = vocabularyOf(vocabulary)
  const idOf = (text: string) => tokens.indexOf(text)
  const ids = words.map((_, at) => tokens.length - words.length + at)
  const thoughtIds = ids.slice(0, thought.length)
  const reply = [
    idOf('<|assistant|>'),
    ...(thought.length > 0 ? [idOf('<think>'), ...thoughtIds, idOf('</think>')] : []),
    ...ids.slice(thought.length),
    TURN,
  ]
  const embedding = new Uint16Array(tokens.length * hidden)
  const output = new Uint16Array(tokens.length * hidden)
  for (const [channel, next] of reply.slice(1).entries()) {
    embedding[reply[channel]! * hidden + channel] = ONE
    output[next * hidden + channel] = TWO
  }
  return modelFolder({
    ...vocabulary,
    template: TEMPLATE,
    eosId: TURN,
    layers,
    tensors: [
      { name: 'model.embed_tokens.weight', shape: [tokens.length, hidden], data: embedding },
      ...layersOf((length) => new Uint16Array(length), layers),
      gain('norm'),
      { name: 'lm_head.weight', shape: [tokens.length, hidden], data: output },
    ],
  })
}
