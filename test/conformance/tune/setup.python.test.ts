// `halfbyte tune --setup`. In: Python, and packages in a folder instead of a registry. Out: an environment in
// the store's folder that the command finds, and messages when a step fails.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test, vi } from 'vitest'
import { halfbyte } from '../../../src/tools/cli/testing/program.ts'
import { needsModules, PYTHON } from '../testing/python.ts'

const folder = await mkdtemp(join(tmpdir(), 'halfbyte-setup-'))
afterAll(() => rm(folder, { recursive: true }))

beforeEach((context) => {
  needsModules(context, 'venv', 'ensurepip')
  vi.stubEnv('HALFBYTE_PYTHON', '')
  vi.stubEnv('HALFBYTE_HOME', join(folder, 'home'))
  vi.stubEnv('PIP_NO_INDEX', '1')
  vi.stubEnv('PIP_FIND_LINKS', join(folder, 'wheels'))
})
afterAll(() => void vi.unstubAllEnvs())

/** Writes a package with one module, which has a version. */
const WHEEL = `
import pathlib, sys, zipfile
folder, *packages = sys.argv[1:]
pathlib.Path(folder).mkdir(exist_ok=True)
for package in packages:
    name, version = package.split('==')
    info = f'{name}-{version}.dist-info/'
    with zipfile.ZipFile(f'{folder}/{name}-{version}-py3-none-any.whl', 'w') as wheel:
        wheel.writestr(name.lower() + '.py', f'__version__ = "{version}"\\n')
        wheel.writestr(info + 'METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n')
        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr(info + 'RECORD', '')
`

const setup = (...more: readonly string[]) => halfbyte('tune', '--setup', '--python', PYTHON, ...more)

test('says what it downloads, and what to do if that fails', async () => {
  const { code, out, err } = await setup()
  expect(code).toBe(1)
  expect(out).toMatch(
    /^creating a Python environment in \S+home\/python\ndownloading torch \d+\.\d+\.\d+.*: about 200 MB, 1 GB on disk\n$/,
  )
  expect(err).toMatch(
    /^unsupported: downloading torch failed \(.*torch==.*\); check the connection .*--index names/,
  )
})

test('the environment is complete, and found without an option', async () => {
  const said = (await setup()).out
  const [, torch = ''] = /downloading torch (\S+)/.exec(said) ?? []
  const others = [
    'filelock==4.3.1',
    'fsspec==2026.9.0',
    'Jinja2==3.1.6',
    'MarkupSafe==3.0.4',
    'mpmath==1.3.0',
  ]
  const more = ['networkx==3.6.1', 'setuptools==84.2.1', 'sympy==1.14.0', 'typing_extensions==4.16.0']
  execFileSync(PYTHON, ['-c', WHEEL, join(folder, 'wheels'), `torch==${torch}`, ...others, ...more])
  const { code, out } = await setup()
  expect(code).toBe(0)
  expect(out).toMatch(/^ready: Python 3\.\d+\.\d+ with torch \d+\.\d+\.\d+ \(\S+home\/python\/\S+\)$/m)
  // The check of Python, which follows that of the data, passes: the model is what is wrong.
  const data = join(folder, 'data.jsonl')
  await writeFile(data, '{"text": "a"}\n{"text": "b"}\n')
  const { err } = await halfbyte('tune', join(folder, 'none.gguf'), data, '--out', join(folder, 'a.hbm'))
  expect(err).toMatch(/none\.gguf/)
  expect(err).not.toMatch(/Python/)
})
