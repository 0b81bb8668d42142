// The table of SECURITY.md. In: its rows, the source. Out: a failure for a file that does not exist, for a
// bound that differs from its constant, and for a check whose file is not loaded by any test in its row.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Row {
  readonly input: string
  readonly bound: string
  readonly files: readonly string[]
  readonly tests: readonly string[]
}

/** A path in the table, from the root. */
const fromRoot = (path: string) => (/^(?:test|demo)\//.test(path) ? path : `src/${path}`)

/** The table's rows with full paths. A name without a folder is in the folder of the preceding name. */
function rows(): Row[] {
  const [, table = ''] = /\| input \|[^\n]*\n\|[-|]+\|\n((?:\|[^\n]*\n)+)/.exec(read('SECURITY.md')) ?? []
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [, input = '', , bound = '', place = '', , held = ''] = line
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim())
      const files: string[] = []
      for (const [, name = ''] of place.matchAll(/`([^`]+)`/g)) {
        const before = files.at(-1)
        const folder = before?.endsWith('/') ? before : before && `${dirname(before)}/`
        const beside = folder === undefined ? undefined : posix.join(folder, name)
        files.push(beside !== undefined && existsSync(join(ROOT, 'src', beside)) ? beside : name)
      }
      const tests = [...held.matchAll(/`([^`]+)`/g)].map(([, name = '']) => fromRoot(name))
      return { input, bound, files, tests }
    })
}

const ROWS = rows()

/** Adds a file and everything that it imports or starts, by path from the root. */
function load(path: string, loaded: Set<string>): void {
  if (loaded.has(path) || !existsSync(join(ROOT, path))) return
  loaded.add(path)
  for (const [, target = ''] of read(path).matchAll(/(?:from|import|new URL)[ (]'(\.[^']+\.ts)'/g))
    load(posix.join(dirname(path), target), loaded)
}

/** A constant such as `16 << 20`, `2 ** 24` or `64 * 1024`, or an object's field, such as `MAX.layers`. */
function constant(path: string, name: string): number {
  const [object = '', key] = name.split('.')
  const form =
    key === undefined ? `const ${name} = ([\\d_ *<]+)\\n` : `const ${object} = {[^}]*\\b${key}: ([\\d_ *<]+),`
  const [, text = ''] = new RegExp(`\\b${form}`).exec(read(`src/${path}`)) ?? []
  const [first, ...rest] = text.replaceAll('_', '').split(/ (<<|\*\*|\*) /)
  let value = Number(first)
  for (let at = 0; at < rest.length; at += 2) {
    const operand = Number(rest[at + 1])
    value *= rest[at] === '<<' ? 2 ** operand : rest[at] === '*' ? operand : value ** (operand - 1)
  }
  return value
}

/** A number in the form that the table uses. */
const WRITTEN: ReadonlyMap<string, (value: number) => string> = new Map([
  ['', (value) => value.toLocaleString('en')],
  ['KiB', (value) => `${value / 2 ** 10} KiB`],
  ['MiB', (value) => `${value / 2 ** 20} MiB`],
  ['2^', (value) => `2^${Math.log2(value)}`],
])

/**
 * The start of the row's name, the constant's file and name, the unit, and the text that follows the number.
 */
const BOUNDS: readonly (readonly [row: string, file: string, name: string, unit: string, after: string])[] = [
  ['JSON of any file', 'core/base/json.ts', 'MAX_DEPTH', '', ' levels'],
  ['JSON of any file', 'core/base/json.ts', 'MAX_VALUES', '', ' brackets and commas'],
  ['JSON and text files', 'core/formats/json-files.ts', 'TEXT_LIMIT_BYTES', 'MiB', ''],
  ['GGUF header', 'core/formats/gguf/gguf.ts', 'NAME_LIMIT_BYTES', 'KiB', ', texts'],
  ['GGUF header', 'core/formats/gguf/gguf.ts', 'MAX_DIMS', '', ' dimensions'],
  ['GGUF header', 'core/formats/gguf/gguf-values.ts', 'STRING_LIMIT_BYTES', 'MiB', ', '],
  ['GGUF header', 'core/formats/gguf/gguf-values.ts', 'ARRAY_LIMIT', '', ' elements'],
  ['GGUF header', 'core/formats/gguf/gguf-values.ts', 'NESTING_LIMIT', '', ' levels'],
  ['safetensors header', 'core/formats/safetensors/safetensors.ts', 'HEADER_LIMIT_BYTES', 'MiB', ', '],
  ['safetensors header', 'core/formats/safetensors/safetensors.ts', 'MAX_DIMS', '', ' dimensions'],
  ['`.hbm` header', 'core/formats/hbm/hbm.ts', 'HEADER_LIMIT_BYTES', 'MiB', ' unpacked'],
  ['ONNX file', 'network/onnx/read-model.ts', 'MAX_STRUCTURE', 'MiB', ' without weights'],
  ['ONNX file', 'network/onnx/read-model.ts', 'MAX_FILES', '', ' data files'],
  ['ONNX graph', 'network/onnx/ir/tensor.ts', 'MAX_ELEMENTS', '2^', ' elements'],
  ['what an ONNX file makes', 'network/onnx/graph-budget.ts', 'MAX_WORK', '2^', ' units'],
  ['what an ONNX file makes', 'network/onnx/graph-budget.ts', 'MAX_BYTES', 'MiB', ' and'],
  ['what an ONNX file makes', 'network/onnx/ir/tensor.ts', 'MAX_AXES', '', ' axes'],
  ['what an ONNX file makes', 'network/onnx/operators/flow.ts', 'MAX_STEPS', '', ' steps'],
  ['what a network', 'network/onnx/graph-budget.ts', 'MAX_WORK', '2^', ' units'],
  ['what a network', 'network/onnx/graph-budget.ts', 'MAX_STEPS', '2^', ' steps'],
  ['what a network', 'network/onnx/graph-budget.ts', 'MAX_RUN_BYTES', 'MiB', ''],
  ['what a network', 'network/compile/fuse/groups.ts', 'MAX_LOOPS', '', ' loops'],
  ['run of a network', 'network/compile/run/parts.ts', 'PART_STEPS', '2^', ' steps'],
  ['bytes of `.hbm`', 'core/formats/hbm/hbm.ts', 'CHUNK_BYTES', 'MiB', ' per chunk'],
  ['model configuration', 'core/arch/config/validate.ts', 'MAX.layers', '', ' layers'],
  ['model configuration', 'core/arch/config/validate.ts', 'MAX.heads', '', ' heads'],
  ['model configuration', 'core/arch/config/validate.ts', 'MAX.headDim', '', ', 1,024 experts'],
  ['model configuration', 'core/arch/config/validate.ts', 'MAX_EXPERTS', '', ' experts'],
  ['LoRA adapter', 'core/weights/merge.ts', 'LARGEST', '', ''],
  ['LoRA adapter', 'core/formats/safetensors/peft-patterns.ts', 'MAX_TRIES', '', ' steps'],
  ['tokenizer', 'core/text/spec.ts', 'MAX_TOKENS', '', ' tokens'],
  ['tokenizer', 'core/text/spec.ts', 'MAX_MERGES', '', ' merges'],
  ['tokenizer', 'core/text/spec.ts', 'MAX_TOKEN_LENGTH', '', ' UTF-16 units'],
  ['tokenizer steps', 'core/text/tokenize/read/json-parts.ts', 'MAX_STEPS', '', ' steps'],
  ['tokenizer steps', 'core/text/tokenize/read/json-parts.ts', 'MAX_GROWTH', '', ' times the length'],
  ['tokenizer steps', 'core/text/tokenize/read/characters-map.ts', 'MAX_GROWTH', '', ' times'],
  ['pieces of unigram', 'core/text/tokenize/piece-search.ts', 'MAX_NODES', '', ' nodes'],
  ['pieces of unigram', 'core/text/tokenize/piece-search.ts', 'MAX_ENDINGS', '', ' pieces'],
  ['added tokens', 'core/text/tokenize/token-search.ts', 'MAX_UNITS', '', ' units'],
  ['chat template', 'core/text/chat/chat-template.ts', 'MAX_TEMPLATE_LENGTH', '', ' characters'],
  ['chat template', 'core/text/chat/chat-template.ts', 'RENDER_UNITS', '2^', ' units'],
  ['chat template', 'core/text/chat/chat-template.ts', 'UNITS_PER_CHARACTER', '', ' per input'],
  ['chat template', 'core/text/jinja/globals.ts', 'MAX_RANGE', '', ', '],
  ['constraint', 'core/constrain/write-grammar.ts', 'MAX_LENGTH', '', ' characters'],
  ['constraint', 'core/constrain/grammar-nodes.ts', 'MAX_NODES', '2^', ' nodes'],
  ['constraint', 'core/constrain/automaton.ts', 'MAX_WORK', '2^', ' steps'],
  ['constraint', 'core/constrain/regex/dfa.ts', 'MAX_STEPS', '2^', ' steps'],
  ['constraint', 'core/constrain/refuse.ts', 'MAX_PATTERN_WORK', '2^', ' for all'],
  ['attributes and properties', 'ui/widget/chat-properties.ts', 'LONGEST', '', ' characters'],
  ['attributes and properties', 'ui/widget/chat-properties.ts', 'MAX_SUGGESTIONS', '', ' suggestions'],
  ['attributes and properties', 'ui/widget/chat-properties.ts', 'MAX_TOOLS', '', ' tools'],
  ['attributes and properties', 'ui/widget/chat-properties.ts', 'MAX_DOCUMENTS', '', ' documents'],
  ['arguments and options', 'core/base/check-options.ts', 'MAX_ITEMS', '', ','],
  ['arguments and options', 'engine/load/prompt-ids.ts', 'MAX_IDS', '', '; threads'],
  ['values sent to the worker', 'core/base/json.ts', 'MAX_LEVELS', '', ' levels'],
  ['messages between tabs', 'engine/api/tabs/tab-messages.ts', 'MAX_ID', '', ' characters'],
  ['saved session', 'core/state/snapshot.ts', 'MAX_INDEX_BYTES', 'MiB', ', '],
  ['saved session', 'core/state/snapshot.ts', 'MAX_LEVELS', '', ' levels'],
  ["server's answer", 'core/store/download/peek.ts', 'LONGEST_BEGINNING', 'MiB', ''],
  ['file name', 'core/formats/names/named-files.ts', 'LONGEST_NAME', '', ' characters'],
  ['texts and datasets', 'tools/cli/files.ts', 'MAX_BYTES', 'MiB', ''],
  ['texts and datasets', 'core/base/bytes.ts', 'LONGEST_LINE', '', ' characters per line'],
  ['request to', 'tools/cli/serve/request-bodies.ts', 'MAX_HELD_BYTES', 'MiB', ' together'],
  ['request to', 'tools/cli/serve/request-bodies.ts', 'MAX_READERS', '', ' being received'],
  ['request to', 'tools/cli/serve/http-server.ts', 'MAX_CONNECTIONS', '', ' connections'],
  ['file of API keys', 'tools/cli/serve/api-keys.ts', 'MAX_FILE_BYTES', 'MiB', ''],
  ['request to', 'adapters/openai-server/body.ts', 'MAX_BODY_LEVELS', '', ' levels'],
  ['request to', 'adapters/openai-server/body.ts', 'MAX_BODY_BYTES', 'MiB', ', 256'],
  ['stored file', 'core/store/device/sums.ts', 'CHUNK_BYTES', 'MiB', ' per chunk'],
]

describe('the table of SECURITY.md', () => {
  test('names only files that exist', () => {
    expect(ROWS.length).toBeGreaterThan(30)
    const missing = ROWS.flatMap(({ input, files }) =>
      files.filter((path) => !existsSync(join(ROOT, fromRoot(path)))).map((path) => `${input}: ${path}`),
    )
    expect(missing).toEqual([])
  })

  test('names no file twice in a row', () => {
    for (const { input, files } of ROWS) expect(new Set(files).size, input).toBe(files.length)
  })

  test.each(ROWS)('$input: the tests load each file', ({ files, tests }) => {
    expect(tests.length).toBeGreaterThan(0)
    const wrong = tests.filter(
      (path) => !/(\.test|test\/fuzz\/.*)\.ts$/.test(path) || !existsSync(join(ROOT, path)),
    )
    expect(wrong).toEqual([])
    const loaded = new Set<string>()
    for (const path of tests) load(path, loaded)
    const isLoaded = (file: string) =>
      [...loaded].some((path) =>
        file.endsWith('/') ? path.startsWith(fromRoot(file)) : path === fromRoot(file),
      )
    expect(files.filter((file) => !isLoaded(file))).toEqual([])
  })

  test.each(BOUNDS)('%s: %s, %s', (input, file, name, unit, after) => {
    const row = ROWS.find((each) => each.input.startsWith(input))
    const value = constant(file, name)
    expect(value).toBeGreaterThan(0)
    expect(row?.bound).toContain(`${WRITTEN.get(unit)?.(value)}${after}`)
  })
})
