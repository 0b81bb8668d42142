// Comparison of templates. In: templates and jinja2's output. Out: where this project's texts differ.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import type { JsonObject } from '../../../src/core/base/values.ts'
import { type ChatMessage, ChatTemplate } from '../../../src/core/text/chat/chat-template.ts'

/** The date that make.py passes to templates. */
const NOW = new Date(2026, 6, 4, 9, 5)

/** Texts by template and conversation; null if jinja2 rejects the template. */
export type Golden = Readonly<Record<string, Readonly<Record<string, string | null>>>>

interface Difference {
  readonly template: string
  readonly conversation: string
  readonly expected: string | null
  readonly actual: string
}

export const folder = import.meta.dirname
const conversations: Readonly<Record<string, JsonObject>> = JSON.parse(
  readFileSync(join(folder, 'conversations.json'), 'utf8'),
)

interface Refusal {
  readonly refusal: string
}

/** The text for a conversation, or the reason for a rejection. Rethrows any other error. */
export function renderOrRefuse(template: ChatTemplate, variables: JsonObject): string | Refusal {
  const { messages, tools, add_generation_prompt, ...templateArguments } = variables
  try {
    return template.render(messages as ChatMessage[], {
      addGenerationPrompt: add_generation_prompt !== false,
      bosToken: '<s>',
      eosToken: '</s>',
      tools: tools as object[] | undefined,
      templateArguments,
      now: NOW,
    })
  } catch (error) {
    if (isHalfbyteError(error)) return { refusal: error.message }
    throw error
  }
}

/** `stored` is the form in which the golden file stores texts. */
export function compareTemplates(
  golden: Golden,
  sourceOf: (name: string) => string,
  stored = (text: string) => text,
) {
  const different: Difference[] = []
  let alike = 0
  let refused = 0
  for (const [name, texts] of Object.entries(golden)) {
    let template: ChatTemplate | undefined
    try {
      template = new ChatTemplate(sourceOf(name))
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
    }
    for (const [conversation, expected] of Object.entries(texts)) {
      const text = template && renderOrRefuse(template, conversations[conversation] as JsonObject)
      if (typeof text === 'string' && stored(text) === expected) alike++
      else if (typeof text !== 'string' && expected === null) refused++
      else {
        const actual = typeof text === 'string' ? text : (text?.refusal ?? 'cannot be read')
        different.push({ template: name, conversation, expected, actual })
      }
    }
  }
  return { alike, refused, different }
}
