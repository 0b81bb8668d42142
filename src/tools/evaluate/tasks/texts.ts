// Perplexity tasks, each following a published definition.

import { linesOf, type TextPieces } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import {
  type ForwardRows,
  type Ids,
  perplexityOfTokens,
  scoreWindow,
} from '../../../engine/score/perplexity.ts'
import {
  type EncodedPair,
  type EvaluatedModel,
  encodePair,
  encodeText,
  prefixToken,
  scorePairs,
} from '../../../engine/score/score.ts'
import { type Estimate, mean, perplexityOf, type Task } from '../task.ts'
import { drawn } from './order.ts'
import { type DataFile, readLines, textField, wrong } from './read.ts'

/**
 * Splits a text into pages, each starting with its title. Source: the loader of the data set
 * `wikitext_document_level`.
 */
export function pagesOf(text: string): string[] {
  const pages: string[] = []
  let lines: string[] = []
  for (const line of text.split('\n')) {
    const title = line.replaceAll('= = =', '===').replaceAll('= =', '==').trim()
    if (title.startsWith('= ') && title.endsWith(' =')) {
      const page = lines.join('\n')
      if (page.trim() !== '') pages.push(page)
      lines = []
    }
    lines.push(line)
  }
  const last = lines.join('\n')
  if (last.trim() !== '' || pages.length === 0) pages.push(last)
  return pages
}

type Rule = readonly [find: string | RegExp, put: string]

/** Applied in this order. Source: `preprocess_wikitext.py` of lm-evaluation-harness. */
const RULES: readonly Rule[] = [
  ["s '", "s'"],
  [/\/' [0-9]\//g, "/'[0-9]/"],
  [' @-@ ', '-'],
  [' @,@ ', ','],
  [' @.@ ', '.'],
  ...[':', ';', '.', '!', '?', ','].map((mark): Rule => [` ${mark} `, `${mark} `]),
  [/\(\s*([^)]*?)\s*\)/g, '($1)'],
  [/\[\s*([^\]]*?)\s*\]/g, '[$1]'],
  [/\{\s*([^}]*?)\s*\}/g, '{$1}'],
  [/"\s*([^"]*?)\s*"/g, '"$1"'],
  [/'\s*([^']*?)\s*'/g, "'$1'"],
  ['= = = =', '===='],
  ['= = =', '==='],
  ['= =', '=='],
  [' \u00b0 ', '\u00b0'],
  [' \n', '\n'],
  ['\n ', '\n'],
  [' N ', ' 1 '],
  [" 's", "'s"],
]

export const detokenizeWikitext = (page: string): string =>
  RULES.reduce((text, [find, put]) => text.replaceAll(find, put), page)

/**
 * The first window scores its own tokens after `prefix`. Each later window scores the next `maxTokens`
 * tokens, given the token before them. The last window starts as early as possible, so that its scored tokens
 * have a long context. Source: `get_rolling_token_windows` with `context_len` 1 and `make_disjoint_window` of
 * lm-evaluation-harness 0.4.
 */
export function rollingWindows(ids: readonly number[], prefix: number, maxTokens: number): EncodedPair[] {
  const windows: EncodedPair[] = []
  for (let done = 0; done < ids.length; ) {
    const end = Math.min(done + maxTokens, ids.length)
    const context = done === 0 ? [prefix] : ids.slice(Math.max(0, end - maxTokens - 1), done)
    windows.push({ context, continuation: ids.slice(done, end) })
    done = end
  }
  return windows
}

/**
 * The windows of a page. If the tokenizer adds BOS, BOS is a token of the page and is scored after the
 * prefix token, as in `HFLM.loglikelihood_rolling` of the harness.
 */
export const pageWindows = (model: EvaluatedModel, page: string): EncodedPair[] =>
  rollingWindows(encodeText(model, detokenizeWikitext(page)), prefixToken(model), model.maxTokens)

/** How a text is split into windows that do not overlap. */
export interface WindowRules {
  readonly name: 'second_halves' | 'windows'
  /** Tokens per window. */
  readonly context: number
  /** Ids of the text from its start. */
  readonly ids: Ids
  /**
   * Number of ids in the whole text, if `ids` has only those of the scored items. Default: the number of
   * `ids`.
   */
  readonly total?: number
  /** An id that replaces the first one of each window; undefined keeps the first. */
  readonly bos?: number | undefined
  readonly forward: ForwardRows
}

/**
 * `second_halves`: llama.cpp's. Each window scores the tokens after its middle. `windows`: GPTQ's. Each
 * window scores all but its first token. Throws `format` for a text shorter than a window.
 */
export function windowTask({ name, context, ids, total = ids.length, bos, forward }: WindowRules): Task {
  const count = Math.floor(total / context)
  if (count < 1) {
    throw new HalfbyteError(
      'format',
      `the text has ${total} tokens but one window needs ${context}; use a longer text or a smaller --context`,
      { tokens: total, context },
    )
  }
  const first = name === 'second_halves' ? Math.floor(context / 2) : 0
  return {
    name,
    count,
    unit: `windows of ${context}`,
    async score(_, index, signal) {
      const own = Array.from(ids.slice(index * context, (index + 1) * context))
      const { sum, squares, count: scored } = await scoreWindow(own, forward, { first, bos, signal })
      return [sum, squares, scored]
    },
    metrics(results) {
      const total = (at: number) => results.reduce((sum, each) => sum + each[at]!, 0)
      const tally = { sum: total(0), squares: total(1), count: total(2) }
      const logLikelihoods = results.map(([sum]) => -sum!)
      const { influence } = perplexityOf(
        logLikelihoods,
        results.map(([, , scored]) => scored!),
      )
      return { perplexity: { ...perplexityOfTokens(tally), influence } }
    },
  }
}

/** WikiText's rows as joined by GPTQ's loader, with two line breaks between them. */
export async function* joinedRows(text: TextPieces): AsyncGenerator<string> {
  let isFirst = true
  for await (const line of linesOf(text)) {
    yield (isFirst ? '' : '\n\n') + (line.trim() === '' ? '' : `${line}\n`)
    isFirst = false
  }
}

/**
 * The harness's `wikitext`: each page as one text, over rolling windows. `word_perplexity` and
 * `byte_perplexity` count the words and bytes of the page before it was cleaned. Reads the raw text, or JSON
 * lines with a `page`.
 */
export function wikitext(file: DataFile): Task {
  const pages = file.text.trimStart().startsWith('{')
    ? readLines(file).map((line) => textField(line, 'page'))
    : pagesOf(file.text)
  const words = pages.map((page) => page.split(/\s+/).length)
  const bytes = pages.map((page) => new TextEncoder().encode(page).length)
  return {
    name: 'wikitext',
    count: pages.length,
    unit: 'pages',
    async score(model, index, signal) {
      let logLikelihood = 0
      for (const { context, continuation } of pageWindows(model, pages[index]!)) {
        const [score] = await scorePairs(model, context, [continuation], signal)
        logLikelihood += score!.logProbability
      }
      return [logLikelihood]
    },
    metrics(results) {
      const found = results.map(([logLikelihood]) => logLikelihood!)
      const byByte = perplexityOf(found, bytes.slice(0, found.length))
      return {
        word_perplexity: perplexityOf(found, words.slice(0, found.length)),
        byte_perplexity: byByte,
        bits_per_byte: bitsOf(byByte),
      }
    },
  }
}

/** log2 of a perplexity, with its error to first order. */
function bitsOf({ value, error, influence }: Estimate): Estimate {
  const bits = (change: number) => change / value / Math.LN2
  return { value: Math.log2(value), error: error && bits(error), influence: influence?.map(bits) }
}

/** Scores the last word of each text given the rest. `acc`: greedy decoding would produce it. */
export function lambada(file: DataFile, seed?: number): Task {
  const items = drawn(readLines(file), seed).map((line) => {
    const words = textField(line, 'text').split(' ')
    if (words.length < 2) throw wrong(line, 'has a text with only one word')
    return { context: words.slice(0, -1).join(' '), word: ` ${words.at(-1)}`, line: line.number }
  })
  return {
    name: 'lambada',
    count: items.length,
    unit: 'texts',
    lineOf: (index) => items[index]!.line,
    async score(model, index, signal) {
      const { context, word } = items[index]!
      const pair = encodePair(model, context, word)
      const [score] = await scorePairs(model, pair.context, [pair.continuation], signal)
      return [score!.logProbability, score!.isGreedy ? 1 : 0]
    },
    metrics: (results) => ({
      perplexity: perplexityOf(results.map(([logLikelihood]) => logLikelihood!)),
      acc: mean(results.map(([, isGreedy]) => isGreedy!)),
    }),
  }
}
