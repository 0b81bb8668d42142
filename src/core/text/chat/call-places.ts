// Finds out whether a chat template writes the calls of earlier turns, and their results. Some templates
// describe the tools, but write only the text of each message.
import { GivenArguments } from '../jinja/values.ts'
import type { Tokenizer } from '../tokenize/tokenizer.ts'
import { type ChatMessage, type ChatTemplate, PROBE, promptOf } from './chat-template.ts'

interface CallPlaces {
  readonly writesCalls: boolean
  readonly writesResults: boolean
}

const TOOLS = [
  {
    type: 'function',
    function: { name: 'a', description: '', parameters: { type: 'object', properties: {} } },
  },
]
const CALL = {
  id: 'call00001',
  type: 'function',
  function: { name: 'a', arguments: new GivenArguments({ a: 'b' }) },
}

/** If the template rejects a conversation with a call, both count as written. */
export function callPlacesOf(tokenizer: Tokenizer, template: ChatTemplate): CallPlaces {
  const rendered = (content: '' | null, calls: readonly object[], result: string) =>
    promptOf(tokenizer, template, conversation(content, calls, result), { tools: TOOLS })
  const unworded = rendered(null, [CALL], PROBE)
  const content = unworded === '' ? '' : null
  const prompt = unworded || rendered(content, [CALL], PROBE)
  return {
    writesCalls: prompt === '' || prompt !== rendered(content, [], PROBE),
    writesResults: prompt === '' || prompt !== rendered(content, [CALL], 'a'),
  }
}

const conversation = (
  content: '' | null,
  calls: readonly object[],
  result: string,
): readonly ChatMessage[] => [
  { role: 'user', content: 'a' },
  { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) },
  { role: 'tool', content: result, name: 'a', tool_call_id: 'call00001' },
]
