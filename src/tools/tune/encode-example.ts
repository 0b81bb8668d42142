// Turns an example into token ids and the ranges of them that are learned, with the model's own tokenizer and
// chat template.
import { encodeChat } from '../../core/text/chat/chat-template.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import type { modelText } from '../../engine/load/model-text.ts'
import type { Example } from './examples.ts'

/** From `begin` up to, but not including, `end`. */
type Range = readonly [begin: number, end: number]

/** What the trainer reads: `ids` of a sequence, and the ranges of them whose prediction is learned. */
export interface Encoded {
  readonly ids: readonly number[]
  readonly trained: readonly Range[]
}

/** An example as sequences, usually one. */
export interface EncodedExample {
  readonly example: Example
  readonly sequences: readonly Encoded[]
  /** Whether tokens were dropped from its end to fit into the context. */
  readonly isCut: boolean
}

interface TextSide {
  readonly tokenizer: Tokenizer
  readonly renderPrompt: ReturnType<typeof modelText>['renderPrompt']
  /** Maximum tokens of a sequence. */
  readonly context: number
}

/**
 * A chat becomes one sequence if the template renders earlier turns like the last one, otherwise one for each
 * turn of the assistant. Sequences without a learned token in the context are dropped. Throws what the
 * template throws.
 */
export function encodeExample(example: Example, side: TextSide): EncodedExample {
  const whole = sequencesOf(example, side)
  const sequences = whole.map((each) => cut(each, side.context)).filter(({ trained }) => trained.length > 0)
  return { example, sequences, isCut: whole.some(({ ids }) => ids.length > side.context) }
}

function sequencesOf(example: Example, side: TextSide): Encoded[] {
  switch (example.form) {
    case 'chat':
      return chatSequences(turnsOf(example, side), side.tokenizer)
    case 'completion':
      return [completion(example, side.tokenizer)]
    case 'text':
      return [wholeText(example.text, side.tokenizer)]
    default:
      return example satisfies never
  }
}

/** The rendered conversation before a reply, and with it. */
interface RenderedTurn {
  readonly before: string
  readonly after: string
}

function turnsOf(
  { messages, tools }: Example & { form: 'chat' },
  { renderPrompt }: TextSide,
): RenderedTurn[] {
  return messages.flatMap(({ role }, index) => {
    if (role !== 'assistant') return []
    const before = renderPrompt(messages.slice(0, index), { tools })
    const after = renderPrompt(messages.slice(0, index + 1), { tools, addGenerationPrompt: false })
    return [{ before, after: after.startsWith(before) ? after : withSameStart(before, after) }]
  })
}

/** Some templates begin a reply in the prompt with marks that they omit from a finished one. */
function withSameStart(before: string, after: string): string {
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  return before + after.slice(same)
}

/** Each part is encoded by itself, because that is how the engine encodes a prompt and samples a reply. */
function chatSequences(turns: readonly RenderedTurn[], tokenizer: Tokenizer): Encoded[] {
  const isOne = turns.every(({ before }, index) => index === 0 || before.startsWith(turns[index - 1]!.after))
  const groups = isOne ? [turns] : turns.map((turn) => [turn])
  return groups.map((group) => {
    const ids: number[] = []
    const trained: Range[] = []
    let done = ''
    for (const { before, after } of group) {
      const gap = before.slice(done.length)
      ids.push(...(done === '' ? encodeChat(tokenizer, gap) : encodeNext(tokenizer, gap, ids.at(-1))))
      const begin = ids.length
      ids.push(...encodeNext(tokenizer, after.slice(before.length), ids.at(-1)))
      trained.push([begin, endOfTurn(ids, begin, tokenizer)])
      done = after
    }
    return { ids, trained }
  })
}

const encodeNext = (tokenizer: Tokenizer, text: string, after: number | undefined): number[] =>
  tokenizer.encode(text, { parseSpecial: true, continues: true, after })

/** A reply ends with its last special token: the engine stops there and never samples what follows. */
function endOfTurn(ids: readonly number[], begin: number, tokenizer: Tokenizer): number {
  for (let at = ids.length - 1; at >= begin; at--) if (tokenizer.isSpecial(ids[at]!)) return at + 1
  return ids.length
}

/** As in calibration, marks like `<|im_start|>` in plain text are the tokens that they name. */
function completion({ prompt, completion }: Example & { form: 'completion' }, tokenizer: Tokenizer): Encoded {
  const start = [...startOf(tokenizer), ...tokenizer.encode(prompt, { parseSpecial: true })]
  const ids = withEnd([...start, ...encodeNext(tokenizer, completion, start.at(-1))], tokenizer)
  return { ids, trained: [[start.length, ids.length]] }
}

function wholeText(text: string, tokenizer: Tokenizer): Encoded {
  const ids = withEnd([...startOf(tokenizer), ...tokenizer.encode(text, { parseSpecial: true })], tokenizer)
  return { ids, trained: [[0, ids.length]] }
}

const startOf = ({ addsBos, bosId }: Tokenizer): readonly number[] =>
  addsBos && bosId !== undefined ? [bosId] : []

const withEnd = (ids: readonly number[], { eosId }: Tokenizer): readonly number[] =>
  eosId === undefined || ids.at(-1) === eosId ? ids : [...ids, eosId]

/** The first token is never learned, because nothing predicts it. */
function cut({ ids, trained }: Encoded, context: number): Encoded {
  const ranges = trained.map(
    ([begin, end]) => [Math.max(1, begin), Math.min(end, ids.length, context)] as const,
  )
  return { ids: ids.slice(0, context), trained: ranges.filter(([begin, end]) => begin < end) }
}
