// Writes dist/*.d.ts, one file of declarations for each entry of the package.
//
// tsc writes a declaration file for each source file to build/types; they are joined from there. Classes with
// private members are only compatible with themselves, so the adapters import the engine's types from
// index.d.ts instead of repeating them.
import { rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { dts } from 'rolldown-plugin-dts'
import { root } from './pinned-node.mjs'

const declarations = join(root, 'build/types')

/** Entries of the package, by the file that declares them. */
const ENTRIES = {
  index: 'index',
  openai: 'api/adapters/openai',
  'ai-sdk': 'api/adapters/ai-sdk',
  'prompt-api': 'api/adapters/prompt-api',
  embedder: 'api/embedder/embedder',
  network: 'api/network/network',
  testing: 'api/fake/fake-engine',
  tabs: 'api/tabs/shared-engine',
  widget: 'widget/index',
}

/** Files whose types adapters take from index.d.ts. Whatever they name has to be public. */
const PUBLIC = ['api/engine', 'api/types', 'engine/wire/protocol'].map((name) =>
  join(declarations, `${name}.d.ts`),
)

/** Engines and sessions are AsyncDisposable, which came with TypeScript 5.2; few projects' `lib` has it. */
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

/** Empties the folder that tsc writes to, so that no declaration of a deleted file is left in it. */
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
      ...(name === 'index' ? [] : [publicTypes]),
      dts({ dtsInput: true, generator: 'oxc', tsconfig: false }),
    ],
    onwarn(warning) {
      throw new Error(warning.message)
    },
  })
  try {
    const { output } = await bundle.generate({ format: 'es', entryFileNames: '[name].d.ts' })
    if (output.length !== 1) throw new Error(`${name}.d.ts is not one file but ${output.length}`)
    return output[0].code
  } finally {
    await bundle.close()
  }
}

const publicTypes = {
  name: 'halfbyte:public-types',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return undefined
    const path = resolve(dirname(importer), source.replace(/\.[jt]s$/, '.d.ts'))
    return PUBLIC.includes(path) ? { id: './index.js', external: true } : undefined
  },
}
