// Past findings: messages between tabs. Each one once threw in the receiving tab, where nothing catches
// errors.
import type { CorpusEntry } from '../corpus.ts'

const entry = (title: string, ...messages: readonly unknown[]): CorpusEntry => ({
  title,
  input: () => ({ messages: JSON.stringify(messages) }),
})
const asked = { from: 'stranger', to: '$leader', id: 1 }

export const CORPUS: readonly CorpusEntry[] = [
  entry('nothing in place of a message', null, 5, 'text', [], {}),
  entry('a message without a sender', { type: 'who' }, { type: 'ping', from: null }),
  entry('an empty command', { ...asked, type: 'generate', request: {} }, { ...asked, type: 'command' }),
  entry('a generation without a request', { ...asked, type: 'generate' }),
  entry('a call without arguments', { ...asked, type: 'call', name: 'fork' }),
  entry('a call of a method that every object has', { ...asked, type: 'call', name: 'toString', args: [] }),
  entry(
    'prompts without a text or messages',
    { ...asked, type: 'call', name: 'countTokens', args: [{ type: 'text', text: 5 }] },
    { ...asked, type: 'generate', request: { prompt: { type: 'messages' }, options: {} } },
  ),
  entry('an id that cannot be serialised', {
    ...asked,
    type: 'call',
    name: 'detokenize',
    args: [[{ toString: 1 }]],
  }),
  entry('a call with one argument too few', { ...asked, type: 'call', name: 'embed', args: [['hello']] }),
  entry('empty reports', { from: '$leader', to: '$follower', id: 0, type: 'report' }),
  entry('an empty failure', { from: '$leader', to: '$follower', id: 0, type: 'refused' }),
  entry('empty progress', { from: '$leader', type: 'progress' }),
  entry(
    'the same generation twice',
    ...[1, 2].map(() => ({
      ...asked,
      type: 'generate',
      request: { prompt: { type: 'text', text: 'hello' }, options: {} },
    })),
  ),
]
