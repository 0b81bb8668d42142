// Writes dist/*.d.ts, one declaration file for each entry of the package.
//
// tsc writes a declaration file for each source file to build/types; this script bundles those. Classes with
// private or branded members are compatible only with themselves, so the other entries import HalfbyteError
// and the engine's and the embedder's types from index.d.ts and embedder.d.ts instead of repeating them.
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { root } from './pinned-node.mjs'

const declarations = join(root, 'build/types')

/** Entries of the package, by the file that declares them. */
const ENTRIES = {
  index: 'index',
  openai: 'adapters/openai',
  'ai-sdk': 'adapters/ai-sdk',
  'prompt-api': 'adapters/prompt-api',
  embedder: 'encoders/embedder/embedder',
  network: 'network/api/network',
  testing: 'engine/api/fake/fake-engine',
  tabs: 'engine/api/tabs/shared-engine',
  assist: 'ui/assist/index',
  widget: 'ui/widget/index',
}

/**
 * The entries from which other entries import the types of these files. Every type that these files mention
 * must be public.
 */
const PUBLIC = new Map(
  [
    ['core/base/errors', 'index'],
    ['engine/api/engine', 'index'],
    ['engine/api/types', 'index'],
    ['engine/types/conversation', 'index'],
    ['engine/types/model', 'index'],
    ['engine/types/reply', 'index'],
    [ENTRIES.embedder, 'embedder'],
  ].map(([name, entry]) => [join(declarations, `${name}.d.ts`), entry]),
)

/**
 * Engines and sessions are AsyncDisposable, which came with TypeScript 5.2; the `lib` of most projects lacks
 * it.
 */
const DISPOSABLE = `declare global {
  interface SymbolConstructor {
    readonly dispose: unique symbol
    readonly asyncDispose: unique symbol
  }
  interface Disposable {
    [Symbol.dispose](): void
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>
  }
}
`

/** Empties the folder that tsc writes to, so that no declarations of deleted files remain. */
export const cleanDeclarations = () => rmSync(declarations, { recursive: true, force: true })

export async function bundleTypes() {
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const code = await joined(name, entry)
    writeFileSync(join(root, 'dist', `${name}.d.ts`), name === 'index' ? DISPOSABLE + code : code)
  }
}

async function joined(name, entry) {
  const bundle = await rolldown({
    input: { [name]: join(declarations, `${entry}.d.ts`) },
    plugins: [
      ...(name === 'index' ? [] : [publicTypes(name)]),
      dts({ dtsInput: true, generator: 'oxc', tsconfig: false }),
    ],
    // On a busy machine rolldown warns about slow plugins, which is irrelevant for the types.
    checks: { pluginTimings: false },
    onwarn(warning) {
      throw new Error(warning.message)
    },
  })
  try {
    const { output } = await bundle.generate({ format: 'es', entryFileNames: '[name].d.ts' })
    if (output.length !== 1) throw new Error(`${name}.d.ts should be one file but became ${output.length}`)
    return output[0].code
  } finally {
    await bundle.close()
  }
}

const publicTypes = (name) => ({
  name: 'halfbyte:public-types',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return undefined
    const path = resolve(dirname(importer), source.replace(/\.[jt]s$/, '.d.ts'))
    const entry = PUBLIC.get(path)
    return entry === undefined || entry === name ? undefined : { id: `./${entry}.js`, external: true }
  },
})
