// Third-party notices: which packages the built scripts contain, and their licences.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../pinned-node.mjs'

/** Lists of packages by build, because each build is a separate process or bundle. */
const LISTS = join(root, 'build/notices')
const LICENSE_FILE = /^(?:licen[cs]e|copying|notice)(?:[.-].*)?$/i
/** The bundler's helpers in the scripts have no file. */
const HELPERS = /^\0(rolldown|vite)\//

/** The folder of the package that a module belongs to; undefined for the project's own modules. */
export function packageFolder(id) {
  const helper = HELPERS.exec(id)?.[1]
  if (helper !== undefined) return join(root, 'node_modules', helper)
  const path = id.replaceAll('\\', '/').split('?')[0]
  const [, folder] = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
  return folder
}

/**
 * A plugin that records the packages read by the build `name`. It includes packages such as `lit`, which
 * contribute only the code of their dependencies.
 */
export const recordPackages = (name) => ({
  name: 'halfbyte:record-packages',
  generateBundle() {
    const folders = [...this.getModuleIds()].map(packageFolder).filter(Boolean)
    mkdirSync(LISTS, { recursive: true })
    writeFileSync(join(LISTS, `${name}.json`), JSON.stringify([...new Set(folders)]))
  },
})

/** Call this before all builds, so that a removed build does not leave its list behind. */
export const forgetPackages = () => rmSync(LISTS, { recursive: true, force: true })

/** After this line, a bundler's licence file lists its own dependencies, which its helpers do not contain. */
const OTHERS = /^#+ licenses of bundled dependencies/im

/** Throws for a package without a licence text. */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = readdirSync(folder)
    .filter((file) => LICENSE_FILE.test(file))
    .sort()
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8').split(OTHERS)[0].trim())
  if (texts.length === 0)
    throw new Error(`${name} ${version} has no licence file; add its text or remove the package`)
  return { name, text: [`## ${name} ${version} (${license})`, ...texts].join('\n\n') }
}

/** Writes the notices of every recorded build to `path`, as Markdown. */
export function writeNotices(path) {
  const folders = readdirSync(LISTS).flatMap((file) => JSON.parse(readFileSync(join(LISTS, file), 'utf8')))
  const ownText = (name) => readFileSync(join(import.meta.dirname, name), 'utf8').trim()
  const notices = [...new Set(folders)]
    .map(noticeOf)
    .concat({ name: '@cwasm/jpeg-turbo', text: ownText('jpeg-turbo.md') })
    .concat({ name: 'pdf.js', text: ownText('pdfjs.md') })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const text = [
    '# Third-party notices',
    'The scripts in this folder contain code of the packages below. `jpeg-turbo.wasm` comes from ' +
      "`@cwasm/jpeg-turbo`; the other WebAssembly modules contain only Halfbyte's own code. " +
      '`models/CREDITS.md` names the sources of the embedded models.',
    ...notices.map((notice) => notice.text),
  ]
  writeFileSync(path, `${text.join('\n\n')}\n`)
}
