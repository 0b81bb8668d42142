// Past findings: saved sessions with correct hashes, as another page or release could have written them.
import type { CorpusEntry } from '../corpus.ts'
import { sealed } from '../sessions.ts'
import { nestedLists, TRAP } from './values.ts'

const BLOCKS = new TextEncoder().encode(`HBSTATE1\u0002${'\0'.repeat(7)}`)
const index = { fingerprint: 'toy', tokens: [], length: 0, blockBytes: [256], from: [0], sums: [], extra: {} }

const entry = (title: string, changes: object): CorpusEntry => ({
  title,
  input: () => ({ session: sealed(JSON.stringify({ ...index, ...changes }), BLOCKS), depth: 'speak' }),
})

export const CORPUS: readonly CorpusEntry[] = [
  entry('a session without messages', {}),
  entry('objects for messages', { extra: TRAP }),
  entry('objects for tokens', { tokens: [TRAP], length: 1 }),
  entry('a length of 2^53', { length: 2 ** 53, tokens: [] }),
  entry('a model that is an object', { fingerprint: TRAP }),
  {
    title: 'an index that is 20,000 lists deep',
    input: () => ({ session: sealed(nestedLists(20_000), BLOCKS), depth: 'restore' }),
  },
]
