// Past findings: constraints.
import type { CorpusEntry } from '../corpus.ts'
import { nestedSchema } from './values.ts'

const entry = (title: string, type: string, source: () => string): CorpusEntry => ({
  title,
  input: () => ({ type, source: source(), walk: '1' }),
})

export const CORPUS: readonly CorpusEntry[] = [
  entry('choices of 10 MB each', 'choices', () =>
    JSON.stringify(['a', 'b'].map((char) => char.repeat(10 << 20))),
  ),
  entry('a choice of 200,000 characters', 'choices', () => JSON.stringify(['x'.repeat(200_000)])),
  entry('20,000 choices with a common prefix', 'choices', () =>
    JSON.stringify(Array.from({ length: 20_000 }, (_, index) => `${'x'.repeat(40)}${index}`)),
  ),
  entry('an enum of 200,000 characters', 'schema', () => JSON.stringify({ enum: ['x'.repeat(200_000)] })),
  entry('a schema 1,000 levels deep', 'schema', () => nestedSchema(1000)),
  entry('a schema 3,000 levels deep', 'schema', () => nestedSchema(3000)),
  entry('a schema 8,000 levels deep', 'schema', () => nestedSchema(8000)),
  entry('an enum 5,000 lists deep', 'schema', () => `{"enum":[${'['.repeat(5000)}${']'.repeat(5000)}]}`),
  entry('a pattern whose states are sets of hundreds', 'schema', () =>
    JSON.stringify({ type: 'string', pattern: '^(.{0,120}){0,80}$', maxLength: 5000 }),
  ),
  entry('the same as a pattern only', 'pattern', () => '^(.{0,120}){0,80}$'),
  entry('groups 20,000 deep', 'pattern', () => '('.repeat(20_000) + ')'.repeat(20_000)),
  entry('a grammar of brackets', 'grammar', () => `root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`),
  entry('a grammar whose only rule is itself', 'grammar', () => 'root ::= root'),
  entry(
    'a grammar of nested repetitions',
    'grammar',
    () => 'root ::= ((((("a"{0,99}){0,99}){0,99}){0,99}){0,99})',
  ),
  entry('an enum of a number that is too large for a double', 'schema', () => '{"enum":[1e999]}'),
  entry('a text of a million characters', 'grammar', () => `root ::= "${'x'.repeat(1_000_000)}"`),
  entry(
    'a fraction as multipleOf next to another case',
    'schema',
    () => '{"oneOf":[{"type":"string"},{"type":"number","multipleOf":0.00001}]}',
  ),
]
