// An app with the packed package. In: the built package. Out: a folder with its tarball unpacked in
// node_modules, as npm installs it.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packDocuments } from '../../scripts/package/documents.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface PackedApp {
  readonly folder: string
  /** The path of the tarball. Links in its documents are still those of the repository. */
  readonly tarball: string
  /** The unpacked package. */
  readonly installed: string
  remove(): Promise<void>
}

/** Dependencies and `tools` are links to the repository's copies, so nothing is downloaded. */
export async function packedApp(tools: readonly string[] = []): Promise<PackedApp> {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('there is no dist; run npm run build first')
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-app-'))
  const installed = join(folder, 'node_modules/halfbyte')
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  await mkdir(join(folder, 'node_modules'))
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  })
  const [{ filename }] = JSON.parse(packed.toString()) as [{ filename: string }]
  execFileSync('tar', ['-xzf', filename], { cwd: folder })
  await rename(join(folder, 'package'), installed)
  packDocuments(installed)
  for (const name of [...Object.keys(dependencies), ...tools]) {
    const link = join(folder, 'node_modules', name)
    await mkdir(dirname(link), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), link, 'dir')
  }
  const tarball = join(folder, filename)
  return { folder, tarball, installed, remove: () => rm(folder, { recursive: true, force: true }) }
}

/** Paths of the package's files, relative to its folder. */
export async function filesOf({ installed }: PackedApp): Promise<string[]> {
  const found = await readdir(installed, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(installed.length + 1)
        .replaceAll('\\', '/'),
    )
}

/** Source text for programs: a tool that the embedded model can use. */
export const CALCULATOR = `const tools = [{
  name: 'calculate', description: 'Computes an arithmetic expression.',
  parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
  execute: ({ expression }) => expression.split('*').reduce((product, each) => product * each, 1),
}]`
