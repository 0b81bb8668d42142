// Splits a reply that arrives in chunks into the thought and the answer, using the marks around the thought.
//
//   Qwen3, DeepSeek, SmolLM3, GLM   <think>..</think>
//   Granite 3.3                     <think>..</think><response>..</response>
//   Hunyuan                         <think>..</think><answer>..</answer>
//   Granite 3.2                     Here is my thought process: .. Here is my response: ..
//   Seed-OSS                        <seed:think>..</seed:think>
//   Magistral, Ministral 3          [THINK]..[/THINK]
//   Kimi-VL                         ◁think▷..◁/think▷
//   Command A, R7B                  <|START_THINKING|>..<|END_THINKING|><|START_RESPONSE|>..<|END_RESPONSE|>
//   Apertus                         <|inner_prefix|>..<|inner_suffix|>
//   EXAONE Deep                     <thought>..</thought>
//   Gemma 4                         <|channel>thought..<channel|>
//   MiniCPM 3                       <|thought_start|>..<|thought_end|>
//   LongCat                         <longcat_think>..</longcat_think>
//   MiniMax M3                      <mm:think>..</mm:think>
//   Reka Flash                      <reasoning>..</reasoning>
//   Apriel                          Here are my reasoning steps: ..
//                                   [BEGIN FINAL RESPONSE]..[END FINAL RESPONSE]
//   gpt-oss                         <|channel|>analysis<|message|>..<|end|>, then the channel `final`
//
// A thought comes at the beginning of a reply. Markers that come later are quotations in the answer.
import { MISTRAL } from '../../base/calls/marks.ts'
import { firstMark, partLength } from './marks.ts'

/** The texts that mark a thought. */
export interface ReasoningMarks {
  /** Opens the thought. */
  readonly open: string
  /** Ends the thought. */
  readonly close: string
}

export interface ReasoningForm extends ReasoningMarks {
  /**
   * Markers around the answer, which are not part of it. The first may be the marker that ends the thought.
   */
  readonly answer?: ReasoningMarks
  /** Tokens within the marks that a vocabulary may have as special tokens. */
  readonly tokens?: readonly string[]
  /** True if the marks are headers of gpt-oss's channels. */
  readonly isHarmony?: boolean
  /** True if the template contains only `close`: its model always thinks, and may omit `open`. */
  readonly isImplied?: boolean
  /** True if the template contains no marks, but a reply that begins with `open` still has a thought. */
  readonly isAssumed?: boolean
}

/**
 * The marks assumed for templates that contain none, such as those of models that were tuned with a plain
 * template.
 */
const ASSUMED: ReasoningForm = { open: '<think>', close: '</think>', isAssumed: true }

const MESSAGE = '<|message|>'
const CHANNEL = '<|channel|>'
const START = '<|start|>'
const HARMONY_ENDS: readonly string[] = ['<|end|>', '<|call|>', '<|return|>']
/** What ends the text of a message. */
const BODY_ENDS: readonly string[] = [...HARMONY_ENDS, START]
/** The longest header of a message. Longer text is not a header. */
const MAX_HEADER = 512

const HARMONY: ReasoningForm = {
  open: `${CHANNEL}analysis${MESSAGE}`,
  close: `<|end|>${START}assistant${CHANNEL}final${MESSAGE}`,
  isHarmony: true,
}

/**
 * Where several forms have the same marks around the thought, templates of all but the last name `answer`.
 */
const FORMS: readonly ReasoningForm[] = [
  HARMONY,
  { open: '<seed:think>', close: '</seed:think>' },
  { open: '[THINK]', close: '[/THINK]' },
  { open: '◁think▷', close: '◁/think▷' },
  {
    open: '<|START_THINKING|>',
    close: '<|END_THINKING|>',
    answer: { open: '<|START_TEXT|>', close: '<|END_TEXT|>' },
  },
  {
    open: '<|START_THINKING|>',
    close: '<|END_THINKING|>',
    answer: { open: '<|START_RESPONSE|>', close: '<|END_RESPONSE|>' },
  },
  { open: '<|inner_prefix|>', close: '<|inner_suffix|>' },
  { open: 'Here is my thought process:', close: 'Here is my response:' },
  { open: '<|channel>thought', close: '<channel|>', tokens: ['<|channel>'] },
  { open: '<|thought_start|>', close: '<|thought_end|>' },
  { open: '<longcat_think>', close: '</longcat_think>' },
  { open: '<mm:think>', close: '</mm:think>' },
  {
    open: 'Here are my reasoning steps:',
    close: '[BEGIN FINAL RESPONSE]',
    answer: { open: '[BEGIN FINAL RESPONSE]', close: '[END FINAL RESPONSE]' },
  },
  {
    open: '<think>',
    close: '</think>',
    answer: { open: '<answer>', close: '</answer>' },
  },
  { open: '<think>', close: '</think>', answer: { open: '<response>', close: '</response>' } },
  { open: '<thought>', close: '</thought>' },
  { open: '<reasoning>', close: '</reasoning>' },
]

/** The form whose marks a chat template contains, or the default form if it contains none. */
export function reasoningFormOf(template: string): ReasoningForm {
  const found = FORMS.find((form, index) => {
    const { open, close, isHarmony, answer } = form
    if (isHarmony) return template.includes(CHANNEL)
    const isNamedByAnswer = FORMS.slice(index + 1).some((other) => other.open === open)
    if (isNamedByAnswer && !template.includes(answer?.open ?? '')) return false
    return template.includes(open) || template.includes(close)
  })
  if (found === undefined) return ASSUMED
  return found.isHarmony || template.includes(found.open) ? found : { ...found, isImplied: true }
}

/** Tokens that must be written as text to find the marks, although some vocabularies mark them as special. */
export const markTexts = ({
  open,
  close,
  answer,
  isHarmony,
  tokens = [],
}: ReasoningForm): readonly string[] =>
  isHarmony
    ? [CHANNEL, MESSAGE, START, ...HARMONY_ENDS, '<|constrain|>']
    : [open, close, ...tokens, ...(answer === undefined ? [] : [answer.open, answer.close])]

/** `start`: neither a thought nor an answer has begun. */
type ReasoningPhase = 'start' | 'thought' | 'answer'

/**
 * Where a reply begins. `enclosed`: in the answer, after the mark that opens it. `continued`: in a thought
 * that began before the reply, so whitespace belongs to it and no mark opens it.
 */
export type Beginning = ReasoningPhase | 'enclosed' | 'continued'

/** The first phase of a reply, by where it begins. */
const PHASES: Readonly<Record<Beginning, ReasoningPhase>> = {
  start: 'start',
  thought: 'thought',
  continued: 'thought',
  answer: 'answer',
  enclosed: 'answer',
}

/** Where a reply to this prompt begins, given its `prefix`. */
export function beginningAfter(prompt: string, form: ReasoningForm, prefix = ''): Beginning {
  const { open, close, answer, isHarmony } = form
  const end = prompt.trimEnd()
  if (prefix.trim() !== '' && prefix.trimStart().startsWith(open) && !prefix.includes(close)) return 'thought'
  if (answer !== undefined && end.endsWith(answer.open)) return 'enclosed'
  if (prefix.trim() !== '') return 'answer'
  if (end.endsWith(open)) return 'thought'
  return end.endsWith(isHarmony ? MESSAGE : close) ? 'answer' : 'start'
}

/** The marks between a thought and an answer. */
const endOf = ({ close, isHarmony }: ReasoningForm): string => (isHarmony ? close : `\n${close}\n\n`)

/** The text between a prompt and a prefix that begins the answer rather than a thought. */
export function answerHead(prompt: string, form: ReasoningForm, prefix: string): string {
  const { open, close, isHarmony } = form
  const isMarked = prefix.trimStart().startsWith(open) || prefix.includes(close)
  if (prefix.trim() === '' || isMarked) return ''
  const phase = beginningAfter(prompt, form)
  if (phase === 'thought') return endOf(form)
  return isHarmony && phase === 'start' ? `${CHANNEL}final${MESSAGE}` : ''
}

/**
 * The marks before and after a thought in a prompt. The thought stays open, so the second is empty, if no
 * `prefix` of the answer follows.
 */
export function marksAround(
  prompt: string,
  form: ReasoningForm,
  prefix: string,
): readonly [before: string, after: string] {
  const { open } = form
  const opened = beginningAfter(prompt, form) === 'thought' ? '' : open
  const before = opened.startsWith('<think') ? `${opened}\n` : opened
  return [before, prefix.trim() === '' ? '' : endOf(form)]
}

/** The parts of a reply that are now certain. */
export interface SplitText {
  readonly reasoning: string
  readonly text: string
}

/** Splits a reply as it arrives. Text is held back while it may be part of a marker. */
export interface ReasoningSplitter {
  readonly phase: ReasoningPhase
  /** True if a thought has begun. */
  readonly hasThought: boolean
  /** How many characters at the end of the reply belong to the thought's closing mark. */
  readonly closing: number
  push(piece: string): SplitText
  /** Ends the reply. A thought without an end stays a thought. */
  finish(): SplitText
  /** The whole reply, with `quote` applied to the text outside the markers. */
  whole(quote: (text: string) => string): string
}

export const reasoningSplitter = (form: ReasoningForm, beginning: Beginning): ReasoningSplitter =>
  form.isHarmony ? new HarmonySplitter(PHASES[beginning]) : new MarkSplitter(form, beginning)

/** The parts of a reply, in order. */
abstract class Splitter implements ReasoningSplitter {
  abstract readonly phase: ReasoningPhase
  abstract readonly closing: number
  hasThought: boolean
  protected held = ''
  #reasoning = ''
  #text = ''
  readonly #parts: { text: string; readonly isMark: boolean }[] = []

  constructor(phase: ReasoningPhase) {
    this.hasThought = phase === 'thought'
  }

  push(piece: string): SplitText {
    this.held += piece
    this.advance(false)
    return this.#given()
  }

  finish(): SplitText {
    this.advance(true)
    return this.#given()
  }

  whole(quote: (text: string) => string): string {
    return this.#parts.map(({ text, isMark }) => (isMark ? text : quote(text))).join('')
  }

  /** Reads as much of the held-back text as possible. */
  protected abstract advance(isOver: boolean): void

  protected think(length: number): void {
    this.#reasoning += this.#take(length, false)
  }

  protected say(length: number): void {
    this.#text += this.#take(length, false)
  }

  /** Drops a marker or the whitespace around it. `instead`: text that is added to the answer in its place. */
  protected drop(length: number, instead = ''): void {
    this.#take(length, true)
    this.#text += instead
  }

  #take(length: number, isMark: boolean): string {
    const text = this.held.slice(0, length)
    this.held = this.held.slice(length)
    const last = this.#parts.at(-1)
    if (last?.isMark === isMark) last.text += text
    else if (text !== '') this.#parts.push({ text, isMark })
    return text
  }

  #given(): SplitText {
    const given = { reasoning: this.#reasoning, text: this.#text }
    this.#reasoning = ''
    this.#text = ''
    return given
  }
}

class MarkSplitter extends Splitter {
  phase: ReasoningPhase
  readonly #form: ReasoningForm
  /** What may come next: whitespace that belongs to a marker, or the marker that opens the answer. */
  #isAfterMark: boolean
  /** Whether to look for the mark that ends the answer. */
  #isEnclosed: boolean

  constructor(form: ReasoningForm, beginning: Beginning) {
    super(PHASES[beginning])
    this.#form = form
    this.#isEnclosed = beginning === 'enclosed'
    this.phase = PHASES[beginning]
    this.#isAfterMark = beginning === 'thought'
  }

  get closing(): number {
    return this.phase === 'thought' ? partLength(this.held, [this.#form.close]) : 0
  }

  protected advance(isOver: boolean): void {
    if (this.phase === 'start') this.#begin(isOver)
    if (this.phase === 'thought') this.#think(isOver)
    if (this.phase === 'answer') this.#answer(isOver)
  }

  #begin(isOver: boolean): void {
    const { open, answer } = this.#form
    const found = this.#mark(open, isOver)
    const enclosed = found === 'none' && answer !== undefined ? this.#mark(answer.open, isOver) : 'none'
    if (found === 'more' || enclosed === 'more') return
    this.hasThought = found === 'found'
    this.phase = this.hasThought ? 'thought' : 'answer'
    this.#isAfterMark = found === 'found' || enclosed === 'found'
    this.#isEnclosed = enclosed === 'found'
  }

  /** Drops `mark` and the whitespace before it. Whitespace without the mark is kept. */
  #mark(mark: string, isOver: boolean): 'found' | 'more' | 'none' {
    const dense = this.held.trimStart()
    if (dense.startsWith(mark)) {
      this.drop(this.held.length - dense.length + mark.length)
      return 'found'
    }
    return mark.startsWith(dense) && !isOver ? 'more' : 'none'
  }

  #think(isOver: boolean): void {
    const { open, close, answer } = this.#form
    if (this.#isAfterMark) {
      // Some models repeat the opening mark, although the prompt already contains it.
      if (this.#mark(open, isOver) === 'more') return
      this.#dropBlanks()
    }
    if (this.held === '') return
    this.#isAfterMark = false
    const at = this.held.indexOf(close)
    const certain = at >= 0 ? at : this.held.length - (isOver ? 0 : partLength(this.held, [close]))
    this.think(this.held.slice(0, certain).trimEnd().length)
    if (at >= 0) {
      this.drop(this.held.indexOf(close) + close.length)
      this.phase = 'answer'
      this.#isEnclosed = answer?.open === close
      this.#isAfterMark = true
    } else if (isOver) this.drop(this.held.length)
  }

  #answer(isOver: boolean): void {
    const { answer } = this.#form
    if (this.#isAfterMark) {
      if (answer !== undefined && !this.#isEnclosed) {
        const found = this.#mark(answer.open, isOver)
        if (found === 'more') return
        this.#isEnclosed = found === 'found'
      }
      this.#dropBlanks()
      if (this.held === '') return
      this.#isAfterMark = false
    }
    const close = this.#isEnclosed ? answer?.close : undefined
    const at = close === undefined ? -1 : this.held.indexOf(close)
    const unsure = close === undefined || isOver ? 0 : partLength(this.held, [close])
    this.say(at < 0 ? this.held.length - unsure : at)
    if (at < 0 || close === undefined) return
    this.drop(close.length)
    this.#isEnclosed = false
    this.say(this.held.length)
  }

  #dropBlanks(): void {
    this.drop(this.held.length - this.held.trimStart().length)
  }
}

/** Tracks strings in JSON that arrives in chunks. */
class JsonStrings {
  #isString = false
  #isEscaped = false

  /** The next chunk, with each character of a string replaced by a space. */
  blanked(text: string): string {
    let [isString, isEscaped] = [this.#isString, this.#isEscaped]
    let found = ''
    for (let at = 0; at < text.length; at++) {
      found += isString ? ' ' : text[at]
      ;[isString, isEscaped] = after(text[at]!, isString, isEscaped)
    }
    return found
  }

  /** Advances past the text. */
  skip(text: string): void {
    for (let at = 0; at < text.length; at++)
      [this.#isString, this.#isEscaped] = after(text[at]!, this.#isString, this.#isEscaped)
  }
}

/** Whether the text after a character is in a string, and whether it is escaped. */
const after = (char: string, isString: boolean, isEscaped: boolean): [boolean, boolean] =>
  isString ? [isEscaped || char !== '"', !isEscaped && char === '\\'] : [char === '"', false]

/** Messages with headers. A prompt ends inside the first header or inside a thought. */
class HarmonySplitter extends Splitter {
  /** A message ends with a single token, which is not part of anything else. */
  readonly closing = 0
  #part: 'header' | 'thought' | 'answer'
  #hasBegun: boolean
  /** Set inside the arguments of a call, whose strings may contain the text of a mark. */
  #arguments: JsonStrings | undefined

  constructor(phase: ReasoningPhase) {
    super(phase)
    this.#part = phase === 'start' ? 'header' : phase
    this.#hasBegun = phase !== 'start'
  }

  /** A header is decoded without constraints, like a thought. */
  get phase(): ReasoningPhase {
    if (this.#part === 'header') return this.#hasBegun || this.held !== '' ? 'thought' : 'start'
    return this.#part
  }

  protected advance(isOver: boolean): void {
    for (let before = -1; before !== this.held.length; ) {
      before = this.held.length
      if (this.#part === 'header') this.#header(isOver)
      else this.#body(this.#part, isOver)
    }
  }

  #header(isOver: boolean): void {
    const end = this.held.indexOf(MESSAGE)
    const isHeader =
      this.#hasBegun ||
      [CHANNEL, ' to='].some((start) => this.held.startsWith(start.slice(0, this.held.length)))
    if (!isHeader || end > MAX_HEADER || (end < 0 && this.held.length > MAX_HEADER)) {
      this.#part = 'answer'
      this.#hasBegun = true
      return
    }
    if (end < 0) {
      // A truncated header is not text.
      if (isOver) this.drop(this.held.length)
      return
    }
    const header = this.held.slice(0, end)
    const channel = /<\|channel\|>\s*(\w+)/.exec(header)?.[1]
    const called = /\bto=functions\.([\w.-]+)/.exec(header)?.[1]
    this.#hasBegun = true
    const isThought = channel === 'analysis' && called === undefined
    this.hasThought ||= isThought
    this.#part = isThought ? 'thought' : 'answer'
    this.#arguments = called === undefined ? undefined : new JsonStrings()
    // Mistral's form has the same parts: a name and a JSON object.
    this.drop(
      end + MESSAGE.length,
      called === undefined ? '' : `${MISTRAL.call}${called}${MISTRAL.separator}`,
    )
  }

  #body(part: 'thought' | 'answer', isOver: boolean): void {
    // Strings are not searched for marks, so they are replaced by spaces.
    const visible = this.#arguments?.blanked(this.held) ?? this.held
    const found = firstMark(visible, BODY_ENDS)
    const unsure = isOver ? 0 : partLength(visible, BODY_ENDS)
    const certain = found?.at ?? this.held.length - unsure
    this.#arguments?.skip(this.held.slice(0, certain))
    if (part === 'thought') this.think(certain)
    else this.say(certain)
    if (found === undefined) return
    this.drop(found.mark.length)
    this.#part = 'header'
  }
}
