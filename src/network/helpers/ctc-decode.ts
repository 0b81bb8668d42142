// Reads texts from the scores of a recognizer that was trained with CTC.
//
// Source: A. Graves et al., "Connectionist Temporal Classification", 2006, section 3.2: best path decoding.
import { checkKeys, readFrom, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { checkOption, choice, whole } from '../../core/base/options/option-kinds.ts'
import { rowsOf } from './rows.ts'
import { softmax } from './softmax.ts'
import type { NetworkTensor } from './tensors.ts'

/** Options of `ctcDecode`. */
export interface CtcOptions {
  /**
   * The text of each class in order, without the blank: a list, or a string with one character per class.
   * Its length must be the number of classes - 1.
   */
  readonly characters: string | readonly string[]
  /** The class that means "no character". Default: 0. */
  readonly blank?: number | undefined
  /** What the tensor contains; `logits` are passed through `softmax`. Default: `probabilities`. */
  readonly scores?: 'probabilities' | 'logits' | undefined
}

/** A recognized text. */
export interface CtcText {
  /** The characters, joined. */
  readonly text: string
  /**
   * Mean probability of the characters, each at its most probable step: 0 to 1. It is 0 for an empty text.
   */
  readonly confidence: number
  /**
   * The first step of each character. Divided by the number of steps, it is the character's position in the
   * picture or signal, from 0 to 1.
   */
  readonly steps: readonly number[]
}

const SCORES = choice(['probabilities', 'logits'])

/**
 * Greedy CTC decoding: takes the most probable class at each step, merges repeats, and drops blanks. `tensor`
 * has the dims [steps, classes] or [batch, steps, classes]; the result has one text per row of the batch.
 *
 * ```ts
 * const { output } = await recognizer.run({ x: tensor }) // [1, 40, 97]
 * const [{ text, confidence }] = ctcDecode(output, { characters: alphabet })
 * ```
 *
 * Throws `unsupported` for other dims, for a blank outside the classes, and if the number of characters does
 * not match.
 */
export function ctcDecode(tensor: NetworkTensor, options: CtcOptions): CtcText[] {
  const {
    characters: given,
    blank = 0,
    scores = 'probabilities',
  } = readFrom('the options', () => {
    checkKeys('the options', options, ['characters', 'blank', 'scores'])
    return options
  })
  checkOption('scores', scores, SCORES)
  const { data, dims } = rowsOf('the tensor', tensor)
  const [classes = 0, steps = 0, batch = 1] = [...dims].reverse()
  if (dims.length < 2 || dims.length > 3 || classes === 0)
    throw wrongOption('the tensor', `a tensor with dims [${dims}]`, 'one of [batch, steps, classes]')
  checkOption('blank', blank, whole(0, classes - 1))
  const characters = textsOf(given, classes)
  const found = scores === 'logits' ? softmax(tensor) : data
  return Array.from({ length: batch }, (_, row) =>
    readRow(bestPath(found, row * steps, steps, classes), characters, blank),
  )
}

function textsOf(given: unknown, classes: number): readonly string[] {
  const characters = typeof given === 'string' ? [...given] : given
  if (!Array.isArray(characters)) throw wrongOption('characters', given, 'a string or a list of strings')
  if (characters.length === classes - 1) return characters
  throw new HalfbyteError(
    'unsupported',
    `there are ${characters.length} characters but ${classes} classes; give one character for each class except the blank`,
    { characters: characters.length, classes },
  )
}

interface Step {
  readonly best: number
  readonly score: number
}

// hot
function bestPath(data: ArrayLike<number>, first: number, steps: number, classes: number): Step[] {
  return Array.from({ length: steps }, (_, step) => {
    const from = (first + step) * classes
    let best = 0
    for (let at = 1; at < classes; at++) if (data[from + at]! > data[from + best]!) best = at
    return { best, score: data[from + best]! }
  })
}

function readRow(path: readonly Step[], characters: readonly string[], blank: number): CtcText {
  let text = ''
  let last = blank
  const steps: number[] = []
  const peaks: number[] = []
  for (const [step, { best, score }] of path.entries()) {
    if (best !== blank && best !== last) {
      text += characters[best < blank ? best : best - 1]
      steps.push(step)
      peaks.push(score)
    } else if (best !== blank) peaks.push(Math.max(peaks.pop()!, score))
    last = best
  }
  const sum = peaks.reduce((total, score) => total + score, 0)
  return { text, confidence: peaks.length === 0 ? 0 : sum / peaks.length, steps }
}
