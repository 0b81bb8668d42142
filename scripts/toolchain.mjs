// Finds the emcc and the wasm-ld to use on this machine, or says what to install.
import { execFileSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

export const MINIMUM_EMSCRIPTEN = '3.1.60'

/** Advice for machines on which setup cannot install anything. */
export const EMSCRIPTEN_ADVICE = `install Emscripten ${MINIMUM_EMSCRIPTEN} or newer and put emcc on PATH:
  Debian:     run "npm run setup" as root or with sudo (Debian 12 and 13)
  macOS:      brew install emscripten
  elsewhere:  git clone https://github.com/emscripten-core/emsdk && cd emsdk && ./emsdk install latest && ./emsdk activate latest && source ./emsdk_env.sh`

/** The path of a program on PATH, or undefined. */
export const which = (name) => {
  const folders = (process.env.PATH ?? '').split(delimiter).concat('/usr/bin', '/usr/local/bin')
  const folder = folders.find((dir) => dir !== '' && existsSync(join(dir, name)))
  return folder === undefined ? undefined : join(folder, name)
}

/** Compares dotted versions numerically; negative if a is older than b. */
export const compareVersions = (a, b) => {
  const [x, y] = [a, b].map((version) => version.split('.').map((part) => Number.parseInt(part, 10) || 0))
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const difference = (x[i] ?? 0) - (y[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

/** The Emscripten version of an emcc, or undefined if it does not run. */
const emscriptenVersion = (emcc) => {
  try {
    const line = execFileSync(emcc, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, EM_NODE_JS: process.execPath },
    })
    return line.match(/\b(\d+\.\d+\.\d+)\b/)?.[1]
  } catch {
    return undefined
  }
}

/**
 * The linker of the LLVM with which emcc compiles, because only the linker of the same LLVM understands its
 * object files.
 */
const wasmLdBeside = (emcc) => {
  const home = dirname(realpathSync(emcc))
  const beside = [
    join(home, '../bin/wasm-ld'), // emsdk: upstream/emscripten/emcc and upstream/bin/wasm-ld
    join(home, 'llvm/bin/wasm-ld'), // Homebrew: libexec/emcc.py and libexec/llvm/bin/wasm-ld
    join(home, '../libexec/llvm/bin/wasm-ld'),
  ]
  if (process.env.EMSDK) beside.unshift(join(process.env.EMSDK, 'upstream/bin/wasm-ld'))
  return beside.find((path) => existsSync(path)) ?? which('wasm-ld-19') ?? which('wasm-ld')
}

/** The compiler and linker, or undefined if one of them is missing or too old. */
export const locateToolchain = () => {
  const emcc = process.env.EMSDK ? join(process.env.EMSDK, 'upstream/emscripten/emcc') : which('emcc')
  if (emcc === undefined || !existsSync(emcc)) return undefined
  const version = emscriptenVersion(emcc)
  if (version === undefined || compareVersions(version, MINIMUM_EMSCRIPTEN) < 0) return undefined
  const wasmLd = wasmLdBeside(emcc)
  return wasmLd === undefined ? undefined : { emcc, wasmLd, version }
}

/** Like locateToolchain, but throws an error with advice. */
export const findToolchain = () => {
  const found = locateToolchain()
  if (found === undefined) {
    throw new Error(`no usable Emscripten was found; ${EMSCRIPTEN_ADVICE}`)
  }
  return found
}
