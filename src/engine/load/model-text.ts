// The text side of a model: its tokenizer and chat template, for the engine service.

import { TOOL_CALL_TEXTS } from '../../core/base/calls/marks.ts'
import { wrongOption } from '../../core/base/check-options.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import type { ModelVocabulary } from '../../core/constrain/compile.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import {
  ChatTemplate,
  chatTemplateOf,
  describesTools,
  encodeChat,
  lacksSystem,
  PLAIN,
  partsFormOf,
  turnEndIds,
} from '../../core/text/chat/chat-template.ts'
import { answerHead, marksAround, reasoningFormOf } from '../../core/text/chat/reasoning.ts'
import { Detokenizer } from '../../core/text/detokenizer.ts'
import { createTokenizer } from '../../core/text/tokenize/read/create.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import { renderTurns, turnQuotes, withMarks } from '../chat/chat-turns.ts'
import type { LoadedModel } from './loaded-model.ts'

/**
 * The tokenizer of a model file; `rows`: the number of tokens that the model has rows for. Throws `format` if
 * it is missing or malformed.
 */
export function openTokenizer(file: ModelFile, rows?: number): Tokenizer {
  if (file.tokenizer !== undefined) return createTokenizer(file.tokenizer, { endIds: endIdsOf(file), rows })
  const next =
    file.format === 'safetensors'
      ? 'pass its tokenizer.json as well'
      : 'convert the model again, including the tokenizer'
  throw new HalfbyteError('format', `${file.name} has no tokenizer; ${next}`)
}

/**
 * Like `openTokenizer`; throws `format` if it has more ids than the model, apart from tokens added to a
 * tokenizer.json.
 */
export function modelTokenizer(file: ModelFile, vocab: number): Tokenizer {
  const tokenizer = openTokenizer(file, vocab)
  if (tokenizer.vocabSize > vocab) {
    throw new HalfbyteError(
      'format',
      `the tokenizer has ${tokenizer.vocabSize} tokens but the model has ${vocab}; it belongs to a different model`,
      { tokens: tokenizer.vocabSize, vocab },
    )
  }
  return tokenizer
}

/** The model's text side, with notes for callers. */
interface ModelTextSide extends Pick<LoadedModel, 'text' | 'renderPrompt'> {
  readonly notes: readonly EngineNote[]
  readonly templateArguments: readonly string[]
  readonly readsTools: boolean
}

/**
 * The model's text side: its tokenizer and its chat template, or the given one. Special tokens in
 * messages are quoted, so a message that contains `<|im_end|>` does not end its turn. `pictureText`: how
 * templates mark images, for vision models. Throws `format` if a given template cannot be read; if the
 * model's own cannot, only rendering throws it, because plain text needs none.
 */
export function modelText(tokenizer: Tokenizer, given?: string, pictureText?: string): ModelTextSide {
  const own = given === undefined ? readTemplate(chatTemplateOf(tokenizer)) : new ChatTemplate(given)
  const template = own instanceof ChatTemplate ? own : new ChatTemplate(PLAIN)
  const quotes = turnQuotes(template, tokenizer)
  const mergesSystem = lacksSystem(tokenizer, template)
  const parts = partsFormOf(tokenizer, template)
  const named = (source: string | undefined) => {
    const found = given === undefined && source ? readTemplate(source) : undefined
    return found instanceof ChatTemplate ? found : undefined
  }
  const toolTemplate = named(tokenizer.toolTemplate)
  const documentTemplate = named(tokenizer.documentTemplate)
  const all = [template, toolTemplate, documentTemplate].filter((each) => each !== undefined)
  const reasoning = reasoningFormOf(all.map(({ source }) => source).join(''))
  return {
    notes: [
      ...(own instanceof ChatTemplate ? [] : [unreadableTemplate(own.message)]),
      ...(mergesSystem ? [MERGED_SYSTEM] : []),
    ],
    templateArguments: [...new Set(all.flatMap((each) => each.variables()))],
    readsTools: toolTemplate !== undefined || describesTools(tokenizer, template),
    renderPrompt: (messages, { prefix = '', reasoningPrefix = '', ...options } = {}) => {
      if (!(own instanceof ChatTemplate)) throw own
      const templates = { template, toolTemplate, documentTemplate, mergesSystem, parts, pictureText }
      const prompt = renderTurns(templates, tokenizer, messages, options, quotes)
      const said = quotes.said(prefix)
      if (reasoning.isAssumed) return prompt + said
      if (reasoningPrefix === '') return prompt + answerHead(prompt, reasoning, prefix) + said
      const [before, after] = marksAround(prompt, reasoning, prefix)
      return prompt + before + quotes.said(reasoningPrefix) + after + said
    },
    text: {
      endIds: turnEndIds(tokenizer, template),
      reasoning,
      longestToken: tokenizer.longestToken,
      encode: (text, start, after) => {
        if (typeof text !== 'string') throw wrongOption('a text', text, 'a string')
        return start
          ? encodeChat(tokenizer, text)
          : tokenizer.encode(text, { parseSpecial: true, continues: true, after })
      },
      quote: quotes.said,
      detokenizer: ({ toolCalls = false, marks = [], after } = {}) =>
        new Detokenizer(withMarks(tokenizer, toolCalls ? [...marks, ...TOOL_CALL_TEXTS] : marks), {
          atStart: after !== undefined && tokenizer.isSpecial(after),
        }),
      tokenText: (id) => tokenizer.tokenText(id),
      tokenBytes: (id) => tokenizer.tokenBytes(id),
    },
  }
}

/** The vocabulary for text after the marker of a call, in which call marks count as text. */
export function withCallTexts(tokenizer: Tokenizer): ModelVocabulary {
  const isMark = (text: string): boolean => {
    const id = tokenizer.idOf(text)
    return id !== undefined && tokenizer.isSpecial(id)
  }
  if (!TOOL_CALL_TEXTS.some(isMark)) return tokenizer
  return {
    vocabSize: tokenizer.vocabSize,
    idOf: (text) => tokenizer.idOf(text),
    encode: (text, options) => tokenizer.encode(text, options),
    ...withMarks(tokenizer, TOOL_CALL_TEXTS),
  }
}

const unreadableTemplate = (reason: string): EngineNote => ({
  code: 'unreadable-template',
  text: reason,
  values: { reason },
})

const MERGED_SYSTEM: EngineNote = {
  code: 'merged-system',
  text: 'the chat template has no system role, so the system prompt is prepended to the first user message',
  values: {},
}

/** A template, or the error if it cannot be parsed. */
function readTemplate(source: string): ChatTemplate | HalfbyteError {
  try {
    return new ChatTemplate(source)
  } catch (error) {
    if (isHalfbyteError(error)) return error
    throw error
  }
}

/** Ids that end a reply according to generation_config.json, which lists more of them than tokenizer.json. */
function endIdsOf({ generationConfig }: ModelFile): readonly number[] {
  return [generationConfig?.['eos_token_id'] ?? []].flat().filter((id) => typeof id === 'number')
}
