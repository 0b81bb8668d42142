// K-quants by llama.cpp. In: the real program, and Pythons whose llama-cpp-python is missing, fails or hangs.
// Out: the message for each, and whether a file is left behind.
import { spawn, spawnSync } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { setTimeout as after } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { DEFAULT_PYTHON } from '../run-python.ts'
import { ended, halfbyte, MAIN, path, start, testModels } from '../testing/program.ts'
import { isKQuant, K_QUANTS } from './k-quants.ts'

testModels()

const hasPython = spawnSync(DEFAULT_PYTHON, ['--version']).status === 0
if (!hasPython) console.warn(`skipped: ${DEFAULT_PYTHON} is not installed`)

const convert = (...args: readonly string[]) => ['convert', path('folder'), path('out/k.gguf'), ...args]
const K = ['--format', 'q4_k_m'] as const

/**
 * A replacement for llama-cpp-python that exits in a different way. Python finds it before the real package.
 */
const fake = (quantize: string) => `
class Options: pass
LLAMA_FTYPE_MOSTLY_Q4_K_M = 15
llama_model_quantize_default_params = llama_log_callback = llama_log_set = llama_backend_init = lambda *a: None
import ctypes, time
class Params(ctypes.Structure): _fields_ = [('ftype', ctypes.c_int)]
llama_model_quantize_default_params = Params
def llama_model_quantize(source, target, options):
    open(target, 'wb').write(open(source, 'rb').read(1000))
    ${quantize}
`

const PACKAGES = {
  missing: "raise ModuleNotFoundError('no package of this name')",
  failing: fake('return 1'),
  endless: fake('time.sleep(600)'),
}

beforeAll(async () => {
  await mkdir(path('out'))
  for (const [name, source] of Object.entries(PACKAGES)) {
    await mkdir(path(name))
    await writeFile(`${path(name)}/llama_cpp.py`, source)
  }
})

const withPackage = (name: keyof typeof PACKAGES) => vi.stubEnv('PYTHONPATH', path(name))
const left = () => readdir(path('out'))

afterEach(() => void vi.unstubAllEnvs())

test('each K-quant is recognised by its name, and no other name is', () => {
  expect(K_QUANTS.every(isKQuant)).toBe(true)
  expect(['q4_0', 'q8_0', 'f16', 'Q4_K_M'].some(isKQuant)).toBe(false)
})

test('without Python, the error suggests what to do before anything is read', async () => {
  const { code, err } = await halfbyte(...convert(...K, '--python', path('no-python')))
  expect(code).toBe(1)
  expect(err).toMatch(
    /^unsupported: llama\.cpp writes q4_k_m, and \S+no-python cannot load its package llama-cpp-python: it could not be started \(ENOENT\); install it \("\S+ -m pip install llama-cpp-python"\), .*or choose --format q4_0 or q8_0\n$/,
  )
  expect(await left()).toEqual([])
})

test('--python is rejected for q4_0', async () => {
  expect(await halfbyte(...convert('--format', 'q4_0', '--python', 'python3'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/--python is for K-quants, and q4_0 needs no Python; omit it/),
  })
})

describe.skipIf(!hasPython)('with Python', () => {
  test('without the package, Python’s error is shown', async () => {
    withPackage('missing')
    expect(await halfbyte(...convert(...K))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/package llama-cpp-python: ModuleNotFoundError: no package of this name; /),
    })
    expect(await left()).toEqual([])
  })

  test('a package in the command’s working folder is not run', async () => {
    withPackage('missing')
    const child = spawn(process.execPath, [MAIN, ...convert(...K)], { cwd: path('failing') })
    expect((await ended(child)).err).toMatch(/no package of this name/)
  })

  test('no file is left behind if llama.cpp fails', async () => {
    withPackage('failing')
    expect(await halfbyte(...convert(...K))).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^unsupported: llama\.cpp could not write \S+k\.gguf: llama\.cpp gave no reason; /,
      ),
    })
    expect(await left()).toEqual([])
  })

  test('a stopped job leaves no file behind, and its Python has ended', async () => {
    withPackage('endless')
    const child = start(...convert(...K))
    const end = ended(child)
    while (child.exitCode === null && !(await left()).includes('k.gguf.part')) await after(50)
    child.kill('SIGINT')
    expect(await end).toMatchObject({ code: 130, err: 'stopped\n' })
    expect(await left()).toEqual([])
  })
})
