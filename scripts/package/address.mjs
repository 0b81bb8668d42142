// The project's address. In: `npm run address -- https://github.com/OWNER/halfbyte`. Out: package.json with
// that repository, home page and issue tracker. With --check, it reports whether one is set for publishing.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../pinned-node.mjs'

/** The address in package.json until the project has one. */
export const PLACEHOLDER = 'https://github.com/OWNER/halfbyte'

/** The fields of package.json. Throws an Error for anything but a repository's https address. */
export function addressFields(address) {
  const { protocol, pathname, search, hash } = URL.canParse(address) ? new URL(address) : {}
  const isRepository = protocol === 'https:' && /^(?:\/[\w.~-]+){2,}$/.test(pathname) && search + hash === ''
  if (!isRepository)
    throw new Error(`${address ?? 'nothing'} is not a repository address; give one like ${PLACEHOLDER}`)
  const home = address.replace(/\.git$/, '')
  return {
    homepage: `${home}#readme`,
    bugs: { url: `${home}/issues` },
    repository: { type: 'git', url: `git+${home}.git` },
  }
}

/** Throws an Error if package.json has no address, or different ones in its three fields. */
export function checkAddress({ homepage, bugs, repository }) {
  const home = String(homepage).replace(/#readme$/, '')
  if (home === PLACEHOLDER)
    throw new Error('package.json has no address yet; run npm run address -- ADDRESS before you publish')
  const due = addressFields(home)
  if (JSON.stringify({ homepage, bugs, repository }) !== JSON.stringify(due))
    throw new Error(`package.json has several addresses; run npm run address -- ${home}`)
}

function main([given]) {
  const path = join(root, 'package.json')
  const before = JSON.parse(readFileSync(path, 'utf8'))
  if (given === '--check') return checkAddress(before)
  writeFileSync(path, `${JSON.stringify({ ...before, ...addressFields(given) }, null, 2)}\n`)
  console.log(`package.json: ${given}`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    main(process.argv.slice(2))
  } catch (error) {
    console.error(`address: ${error.message}`)
    process.exitCode = 1
  }
}
