// Installs the named parts (emscripten, chromium, arm, jsc, firefox, webkit, simde, bun, deno; or real models
// and test data, by their names in models/) on Debian. On other systems, it prints one line per part with
// what to install. Parts that are already installed take milliseconds. Runs under Node 20 too.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fetchJsc, jscCommand, PROCESSORS } from './jsc/shell.mjs'
import { fetchModel } from './models/fetch.mjs'
import { REAL_MODELS } from './models/real-models.mjs'
import { fetchTestData, TEST_DATA } from './models/test-data.mjs'
import { fetchRuntime, RUNTIMES, runtimeCommand } from './package/runtimes.mjs'
import {
  compareVersions,
  EMSCRIPTEN_ADVICE,
  locateToolchain,
  MINIMUM_EMSCRIPTEN,
  which,
} from './toolchain.mjs'

const isArmHost = process.arch === 'arm64'

/**
 * Each part: whether it is installed, its Debian packages or how to download it, and advice for other
 * systems.
 */
const PARTS = {
  emscripten: {
    isPresent: () => locateToolchain() !== undefined,
    packages: ['emscripten', 'clang-19', 'lld-19'],
    advice: EMSCRIPTEN_ADVICE,
  },
  chromium: {
    isPresent: () =>
      ['chromium', 'chromium-browser', 'google-chrome'].some((name) => which(name) !== undefined),
    packages: ['chromium'],
    advice: 'install Chromium, or run "npx playwright install --with-deps chromium"',
  },
  arm: {
    isPresent: () =>
      isArmHost ||
      (which('qemu-aarch64-static') !== undefined && existsSync('/usr/aarch64-linux-gnu/lib/libstdc++.so.6')),
    packages: ['qemu-user-static', 'libc6-arm64-cross', 'libstdc++6-arm64-cross'],
    advice:
      'install qemu-user-static and the arm64 cross libraries (libc6, libstdc++6), or test on an arm64 machine',
  },
  jsc: {
    isPresent: () => PROCESSORS.every((processor) => jscCommand(processor) !== undefined),
    fetch: () => PROCESSORS.every(fetchJsc),
    packages: ['libjavascriptcoregtk-4.0-bin'],
    advice: "it needs apt-get, dpkg-deb and Debian's mirror, and QEMU (npm run setup arm) for arm64 code",
  },
  firefox: {
    isPresent: () => ['firefox-esr', 'firefox'].some((name) => which(name) !== undefined),
    packages: ['firefox-esr'],
    advice: 'install Firefox 145 or newer',
  },
  webkit: {
    isPresent: () => which('WebKitWebDriver') !== undefined && which('Xvfb') !== undefined,
    packages: ['webkit2gtk-driver', 'xvfb'],
    advice: "install WebKitGTK's WebDriver (webkit2gtk-driver) and Xvfb",
  },
  simde: {
    isPresent: () =>
      existsSync('/usr/include/simde/wasm/simd128.h') &&
      which('clang-19') !== undefined &&
      existsSync(join(capture('clang-19', ['-print-resource-dir']).trim(), 'lib/linux')),
    packages: ['libsimde-dev', 'clang-19', 'libclang-rt-19-dev'],
    advice: 'install simde, and clang 19 with its sanitizers',
  },
}

for (const name of Object.keys(RUNTIMES))
  PARTS[name] = {
    isPresent: () => runtimeCommand(name) !== undefined,
    fetch: () => fetchRuntime(name),
    packages: [],
    advice: 'it needs the npm registry, with a package for this system',
  }

const capture = (command, args) => {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  })
  return status === 0 ? stdout : ''
}

/** The prefix that runs a command as root: nothing, sudo, or undefined if neither works. */
const rootPrefix = () => {
  if (process.getuid?.() === 0) return []
  if (which('sudo') === undefined) return undefined
  const [asks, stdio] = process.stdin.isTTY ? [[], 'inherit'] : [['-n'], 'ignore']
  return spawnSync('sudo', [...asks, 'true'], { stdio }).status === 0 ? ['sudo', ...asks] : undefined
}

const codename = () => {
  if (!existsSync('/etc/os-release')) return ''
  return readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)?.[1] ?? ''
}

const candidate = (name) => capture('apt-cache', ['policy', name]).match(/Candidate: (\S+)/)?.[1] ?? ''

/**
 * Debian 12 ships an Emscripten that is too old, but Debian 13's runs on it unchanged. Adds Debian 13 as a
 * source, from the mirror in use, with a priority that leaves every other package alone.
 */
const addNewerDebian = (asRoot) => {
  const targets = capture('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI)|$(CODENAME)|$(LABEL)|$(SIGNED_BY)',
    'Identifier: Packages',
  ])
  const main = targets.split('\n').find((line) => line.includes('|bookworm|Debian|')) ?? ''
  const [uri, , , signedBy] = main.split('|')
  if (!uri) return false
  const install = (text, path) => {
    const draft = join(tmpdir(), `halfbyte-setup-${process.pid}`)
    writeFileSync(draft, text)
    const [command, ...args] = [...asRoot, 'install', '-m', '644', draft, path]
    return spawnSync(command, args, { stdio: 'inherit' }).status === 0
  }
  const key = signedBy?.startsWith('/') ? signedBy : '/usr/share/keyrings/debian-archive-keyring.gpg'
  return (
    install(
      'Package: *\nPin: release n=trixie\nPin-Priority: 100\n',
      '/etc/apt/preferences.d/halfbyte-trixie',
    ) &&
    install(
      `Types: deb\nURIs: ${uri}\nSuites: trixie\nComponents: main\nSigned-By: ${key}\n`,
      '/etc/apt/sources.list.d/halfbyte-trixie.sources',
    )
  )
}

const aptGet = (asRoot, args) => {
  const [command, ...rest] = [
    ...asRoot,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-qq',
    '-o',
    'DPkg::Lock::Timeout=300',
    '-o',
    'Dpkg::Use-Pty=0',
    ...args,
  ]
  // Package scripts print a lot; their output matters only if they fail.
  const { status, stdout, stderr } = spawnSync(command, rest, { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) console.error(`${stdout ?? ''}${stderr ?? ''}`.trim())
  return status === 0
}

/** Whether this process has refreshed the package index. */
let isIndexFresh = false

const installPart = (name, asRoot) => {
  const { packages } = PARTS[name]
  if (!isIndexFresh) {
    isIndexFresh = true
    // An unresponsive source must not block the others.
    aptGet(asRoot, ['update'])
  }
  let wanted = packages
  if (name === 'emscripten') {
    const debianVersion = (text) => text.match(/^(?:\d+:)?([\d.]+)/)?.[1] ?? '0'
    if (compareVersions(debianVersion(candidate('emscripten')), MINIMUM_EMSCRIPTEN) >= 0) {
      wanted = ['emscripten']
    } else if (codename() === 'bookworm' && addNewerDebian(asRoot)) {
      aptGet(asRoot, ['update'])
      wanted = ['emscripten/trixie', 'clang-19', 'lld-19']
    } else {
      return false
    }
  }
  return aptGet(asRoot, ['install', '-y', '--no-install-recommends', ...wanted])
}

/** Finds or installs the parts; returns the names of those that are still missing. */
export const setUp = (names) => {
  const missing = names.filter((name) => !PARTS[name].isPresent())
  if (missing.length === 0) return []
  const asRoot = which('apt-get') === undefined ? undefined : rootPrefix()
  const left = []
  for (const name of missing) {
    if (PARTS[name].fetch?.() && PARTS[name].isPresent()) continue
    if (asRoot !== undefined && PARTS[name].fetch === undefined) {
      const start = performance.now()
      console.log(`setup: installing ${name} (${PARTS[name].packages.join(', ')})`)
      if (installPart(name, asRoot) && PARTS[name].isPresent()) {
        console.log(`setup: ${name} is installed (${((performance.now() - start) / 1000).toFixed(0)} s)`)
        continue
      }
    }
    const reason =
      asRoot === undefined && PARTS[name].fetch === undefined
        ? 'needs apt-get as root or with sudo'
        : 'the installation failed'
    console.error(`setup: ${name} is missing and cannot be installed here (${reason}); ${PARTS[name].advice}`)
    left.push(name)
  }
  return left
}

const isFetched = (name) => Object.hasOwn(REAL_MODELS, name) || Object.hasOwn(TEST_DATA, name)

/** Downloads models and test data; returns the names of those that are still missing. */
export const fetchAll = async (names) => {
  const left = []
  for (const name of names) {
    const isThere = Object.hasOwn(TEST_DATA, name) ? await fetchTestData(name) : await fetchModel(name)
    if (!isThere) left.push(name)
  }
  return left
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const asked = process.argv.slice(2)
  const unknown = asked.filter((name) => !Object.hasOwn(PARTS, name) && !isFetched(name))
  if (unknown.length > 0) {
    const known = [...Object.keys(PARTS), ...Object.keys(REAL_MODELS), ...Object.keys(TEST_DATA)]
    console.error(`setup knows ${known.join(', ')}; not ${unknown.join(', ')}`)
    process.exit(2)
  }
  const names = asked.length > 0 ? asked : ['emscripten', 'chromium']
  const left = setUp(names.filter((name) => !isFetched(name)))
  left.push(...(await fetchAll(names.filter(isFetched))))
  if (left.length === 0) console.log(`setup: ${names.join(', ')} ready`)
  process.exit(left.length === 0 ? 0 : 1)
}
