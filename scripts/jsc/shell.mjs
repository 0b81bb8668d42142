// The command that runs JavaScriptCore's shell for a processor, from Debian's packages in .cache/; nothing is
// installed. For a foreign processor it runs in QEMU.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../pinned-node.mjs'
import { which } from '../toolchain.mjs'

export const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64'
/** Both processors if QEMU is installed. */
export const PROCESSORS = OWN === 'arm64' ? ['arm64'] : ['amd64', 'arm64']
const PACKAGE = 'libjavascriptcoregtk-4.0-bin'
const SUITE = 'bookworm'
const KEYS = '/usr/share/keyrings/debian-archive-keyring.gpg'
const MIRRORS = [
  `http://deb.debian.org/debian ${SUITE} main`,
  `http://deb.debian.org/debian-security ${SUITE}-security main`,
]

const folderOf = (processor) => join(root, '.cache', `jsc-${processor}`)
const shellOf = (processor) => join(folderOf(processor), 'usr/bin/jsc')

/** The command and its first arguments, or undefined if the shell is missing. */
export const jscCommand = (processor) => {
  if (!existsSync(shellOf(processor))) return undefined
  const tree = folderOf(processor)
  if (processor !== OWN) {
    const qemu = which('qemu-aarch64-static')
    return qemu === undefined ? undefined : [qemu, '-L', tree, '-cpu', 'max', shellOf(processor)]
  }
  const name = processor === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu'
  const libraries = [join(tree, 'usr/lib', name), join(tree, 'lib', name)].join(':')
  const loader = processor === 'arm64' ? 'lib/ld-linux-aarch64.so.1' : 'lib64/ld-linux-x86-64.so.2'
  // The packages' own loader, because their C library may differ from this system's.
  return [join(tree, loader), '--library-path', libraries, shellOf(processor)]
}

/**
 * Downloads the shell and every library that it needs, for one processor. Returns whether it is available.
 */
export const fetchJsc = (processor) => {
  if (existsSync(shellOf(processor))) return true
  const draft = `${folderOf(processor)}.${process.pid}`
  const apt = join(draft, 'apt')
  for (const folder of ['state/lists/partial', 'cache/archives/partial']) {
    mkdirSync(join(apt, folder), { recursive: true })
  }
  writeFileSync(join(apt, 'status'), '')
  writeFileSync(
    join(apt, 'sources.list'),
    MIRRORS.map((each) => `deb [signed-by=${KEYS}] ${each}\n`).join(''),
  )
  const options = [
    `APT::Architecture=${processor}`,
    `APT::Architectures=${processor}`,
    `Dir::State=${apt}/state`,
    `Dir::State::status=${apt}/status`,
    `Dir::Cache=${apt}/cache`,
    `Dir::Etc::sourcelist=${apt}/sources.list`,
    'Dir::Etc::sourceparts=/none',
    'Acquire::Languages=none',
    'Debug::NoLocking=1',
  ].flatMap((option) => ['-o', option])
  const runs = (command, args) => {
    const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
    if (status !== 0) console.error(`${stdout ?? ''}${stderr ?? error?.message}`.trim())
    return status === 0
  }
  const install = ['-y', '--no-install-recommends', '--download-only', 'install', PACKAGE]
  const isFetched =
    runs('apt-get', [...options, '-qq', 'update']) && runs('apt-get', [...options, '-qq', ...install])
  const archives = join(apt, 'cache/archives')
  const isUnpacked =
    isFetched &&
    readdirSync(archives)
      .filter((name) => name.endsWith('.deb'))
      .every((name) => runs('dpkg-deb', ['-x', join(archives, name), draft]))
  if (isUnpacked) {
    rmSync(apt, { recursive: true })
    renameSync(draft, folderOf(processor))
  }
  rmSync(draft, { recursive: true, force: true })
  return isUnpacked
}
