// The Python that trains: found and checked before any work, or set up once by `halfbyte tune --setup`.
import { join } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { storeFolder } from '../platform-folders.ts'
import { DEFAULT_PYTHON, runPython, SAFE_PATH } from '../run-python.ts'
import { clearProgress, overwrite } from '../terminal/output.ts'

const TORCH = '2.15.0'
/** Everything that torch needs, in the versions that this one was tried with. */
const OTHERS = [
  'filelock==4.3.1',
  'fsspec==2026.9.0',
  'Jinja2==3.1.6',
  'MarkupSafe==3.0.4',
  'mpmath==1.3.0',
  'networkx==3.6.1',
  'setuptools==84.2.1',
  'sympy==1.14.0',
  'typing_extensions==4.16.0',
]
/** PyPI's torch for Linux contains gigabytes of libraries for GPUs. */
const CPU_INDEX = 'https://download.pytorch.org/whl/cpu'
const DOWNLOAD = 'about 200 MB, 1 GB on disk'

/** Overrides the search for a Python, as in tests. */
const VARIABLE = 'HALFBYTE_PYTHON'

const environmentFolder = (): string => join(storeFolder(), 'python')

const pythonIn = (folder: string): string =>
  process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python')

const CHECK = `${SAFE_PATH}
if sys.version_info < (3, 10):
    sys.exit('it is Python %d.%d, and 3.10 is the oldest that works' % sys.version_info[:2])
`
const CHECK_TORCH = `${CHECK}
import torch
if tuple(int(part) for part in torch.__version__.split('.')[:2]) < (2, 4):
    sys.exit('it has torch %s, and 2.4 is the oldest that works' % torch.__version__)
print('Python %d.%d.%d' % sys.version_info[:3], 'with torch', torch.__version__)
`

/** A program that can train. */
export interface TrainingPython {
  readonly program: string
  /** Versions, for people: `Python 3.12.1 with torch 2.15.0`. */
  readonly what: string
}

/**
 * The Python that `--python` or HALFBYTE_PYTHON names, otherwise the one that was set up, otherwise the
 * system's. Throws `unsupported` with the next step if it cannot train.
 */
export async function trainingPython(
  given: string | undefined,
  signal: AbortSignal,
): Promise<TrainingPython> {
  const named = given ?? (process.env[VARIABLE] || undefined)
  const own = pythonIn(environmentFolder())
  const failures: string[] = []
  for (const program of named === undefined ? [own, DEFAULT_PYTHON] : [named]) {
    overwrite(`checking ${program}`)
    const { failure, out } = await runPython(program, ['-c', CHECK_TORCH], signal).finally(clearProgress)
    if (failure === undefined) return { program, what: out.trim() }
    // Nothing was set up yet, which needs no mention.
    if (program !== own || !failure.includes('ENOENT')) failures.push(`${program}: ${failure}`)
  }
  throw new HalfbyteError(
    'unsupported',
    `training needs Python with torch, and none was found (${failures.join('; ')}); run "halfbyte tune --setup", which downloads it (${DOWNLOAD}), or name a Python that has it with --python`,
    { failures },
  )
}

interface SetupFlags {
  readonly python?: string | undefined
  /** The package index from which torch comes. */
  readonly index?: string | undefined
}

/**
 * Creates a virtual environment with torch in the store's folder. Says before it begins what it downloads.
 * Throws `unsupported` with the next step if a step fails.
 */
export async function setUpPython(
  { python, index }: SetupFlags,
  signal: AbortSignal,
): Promise<TrainingPython> {
  const base = python ?? (process.env[VARIABLE] || DEFAULT_PYTHON)
  const folder = environmentFolder()
  const from = index ?? (process.platform === 'linux' ? CPU_INDEX : undefined)
  const { failure } = await runPython(base, ['-c', `${CHECK}import venv, ensurepip`], signal)
  if (failure !== undefined) {
    throw failed(
      `${base} cannot create an environment (${failure})`,
      'install Python 3.10 or newer with venv (on Debian: apt install python3-venv), or name one with --python',
    )
  }
  process.stdout.write(
    `creating a Python environment in ${folder}\ndownloading torch ${TORCH}${from === undefined ? '' : ` from ${from}`}: ${DOWNLOAD}\n`,
  )
  const own = pythonIn(folder)
  await step('creating the environment', base, ['-m', 'venv', '--clear', folder], signal)
  const pip = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off']
  const torchFrom = from === undefined ? [] : ['--index-url', from]
  await step('downloading torch', own, [...pip, '--no-deps', ...torchFrom, `torch==${TORCH}`], signal)
  await step('downloading what torch needs', own, [...pip, '--no-deps', ...OTHERS], signal)
  return trainingPython(own, signal)
}

async function step(
  what: string,
  python: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const show = (text: string) => {
    const line = text.trim().split('\n').at(-1)?.trim()
    if (line) overwrite(`${what}: ${line}`)
  }
  overwrite(what)
  const { failure } = await runPython(python, args, signal, show).finally(clearProgress)
  if (failure === undefined) return
  throw failed(
    `${what} failed (${failure})`,
    'check the connection and the free space and run the command again; --index names another source of torch, --python another Python',
  )
}

const failed = (what: string, next: string): HalfbyteError =>
  new HalfbyteError('unsupported', `${what}; ${next}`)
