// Model text. In: a model file's tokenizer. Out: ids, text and the chat template, for the engine service.
import { HalfbyteError } from '../../base/errors.ts'
import { wrongOption } from '../../base/options.ts'
import type { ModelFile } from '../../formats/model-file.ts'
import { ChatTemplate, chatTemplateOf, encodeChat, turnEndIds } from '../../text/chat/chat.ts'
import { Detokenizer } from '../../text/detokenizer.ts'
import { createTokenizer } from '../../text/tokenize/read/create.ts'
import type { Tokenizer } from '../../text/tokenize/tokenizer.ts'
import { renderTurns, turnQuotes, withToolMarks } from '../reply/chat-turns.ts'
import type { LoadedModel } from './loaded-model.ts'

/** The tokenizer of a model file, of a model with that many `rows`. Throws `format` if it is missing or malformed. */
export function openTokenizer(file: ModelFile, rows?: number): Tokenizer {
  if (file.tokenizer !== undefined) return createTokenizer(file.tokenizer, { endIds: endIdsOf(file), rows })
  const next =
    file.format === 'safetensors'
      ? 'give its tokenizer.json with it'
      : 'convert the model again, tokenizer included'
  throw new HalfbyteError('format', `${file.name} comes without a tokenizer; ${next}`)
}

/** The same; throws `format` if it has more ids than the model, apart from tokens added to a tokenizer.json. */
export function modelTokenizer(file: ModelFile, vocab: number): Tokenizer {
  const tokenizer = openTokenizer(file, vocab)
  if (tokenizer.vocabSize > vocab) {
    throw new HalfbyteError(
      'format',
      `the tokenizer has ${tokenizer.vocabSize} tokens but the model has ${vocab}; it belongs to another model`,
      { tokens: tokenizer.vocabSize, vocab },
    )
  }
  return tokenizer
}

/**
 * The model's text side: its tokenizer and its chat template. Special tokens in messages are quoted, so a
 * message that contains `<|im_end|>` does not end its turn. Throws `format` if the template cannot be read.
 */
export function modelText(tokenizer: Tokenizer): Pick<LoadedModel, 'text' | 'renderPrompt'> {
  const template = new ChatTemplate(chatTemplateOf(tokenizer))
  const quotes = turnQuotes(template, tokenizer)
  return {
    renderPrompt: (messages, tools, prefix = '') =>
      renderTurns(template, tokenizer, messages, tools, quotes) + quotes.said(prefix),
    text: {
      endIds: turnEndIds(tokenizer, template),
      longestToken: tokenizer.longestToken,
      encode: (text, start, after) => {
        if (typeof text !== 'string') throw wrongOption('a text', text, 'a string')
        return start
          ? encodeChat(tokenizer, text)
          : tokenizer.encode(text, { parseSpecial: true, continues: true, after })
      },
      quote: quotes.said,
      detokenizer: ({ toolCalls = false, after } = {}) =>
        new Detokenizer(toolCalls ? withToolMarks(tokenizer) : tokenizer, {
          atStart: after !== undefined && tokenizer.isSpecial(after),
        }),
      tokenText: (id) => tokenizer.tokenText(id),
      tokenBytes: (id) => tokenizer.tokenBytes(id),
    },
  }
}

/** Ids that end a reply according to generation_config.json, which lists more of them than tokenizer.json. */
function endIdsOf({ generationConfig }: ModelFile): readonly number[] {
  return [generationConfig?.['eos_token_id'] ?? []].flat().filter((id) => typeof id === 'number')
}
