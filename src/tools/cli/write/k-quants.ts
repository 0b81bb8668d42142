// K-quants. In: a GGUF file in F16. Out: the same model in llama.cpp's blocks, written by llama.cpp itself
// in the Python package llama-cpp-python.
import { open, realpath, rename, rm, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { runPython, SAFE_PATH } from '../run-python.ts'
import { PART, writeOutput } from '../terminal/output.ts'

/** llama.cpp's own names, in lower case. */
export const K_QUANTS = [
  'q2_k',
  'q3_k_s',
  'q3_k_m',
  'q3_k_l',
  'q4_k_s',
  'q4_k_m',
  'q5_k_s',
  'q5_k_m',
  'q6_k',
] as const

export type KQuant = (typeof K_QUANTS)[number]

export const isKQuant = (format: string): format is KQuant => K_QUANTS.some((name) => name === format)

/**
 * With less free space than this when llama.cpp fails, the disk counts as full, because the file system
 * reserves some.
 */
const FULL_BYTES = 1 << 20

const SCRIPT = `${SAFE_PATH}
import ctypes, os
import llama_cpp as llama
kind = getattr(llama, 'LLAMA_FTYPE_MOSTLY_' + sys.argv[1].upper())
options = llama.llama_model_quantize_default_params()
if len(sys.argv) > 2:
    errors = []
    def listen(level, text, data):
        if level == 4:
            errors.append(text.decode(errors='replace').strip())
    log = llama.llama_log_callback(listen)
    llama.llama_log_set(log, ctypes.c_void_p(0))
    llama.llama_backend_init()
    options.ftype = kind
    source, target = (os.fsencode(path) for path in sys.argv[2:])
    if llama.llama_model_quantize(source, target, ctypes.byref(options)) != 0:
        sys.exit(errors[-1] if errors else 'llama.cpp gave no reason')
`

/** The program that writes the blocks. */
interface LlamaCpp {
  readonly format: KQuant
  /** The Python to run. */
  readonly python: string
}

/** Before any work, throws `unsupported` if there is no Python with the package. */
export async function checkLlamaCpp({ format, python }: LlamaCpp, signal: AbortSignal): Promise<void> {
  const install = `install it ("${python} -m pip install llama-cpp-python"), give a Python that has it with --python`
  const { failure } = await runPython(python, ['-c', SCRIPT, format], signal)
  if (failure === undefined) return
  throw new HalfbyteError(
    'unsupported',
    `llama.cpp writes ${format}, and ${python} cannot load its package llama-cpp-python: ${failure}; ${install}, or choose --format q4_0 or q8_0`,
    { format, python },
  )
}

/**
 * Writes the model whose F16 file is `chunks`, which needs disk space in addition to the output until it is
 * done. The output appears when it is complete. Throws what `writeOutput` throws, `storage-full` if the disk
 * is full and `unsupported` if llama.cpp fails.
 */
export async function writeKQuants(
  output: string,
  chunks: AsyncIterable<Uint8Array>,
  llama: LlamaCpp,
  signal: AbortSignal,
): Promise<void> {
  const place = await fileAt(output)
  const [source, target] = [`${place}.f16${PART}`, place + PART]
  try {
    await writeOutput(source, chunks, signal)
    const { failure } = await runPython(llama.python, ['-c', SCRIPT, llama.format, source, target], signal)
    if (failure !== undefined) throw await failed(output, failure)
    await flush(target)
    await rename(target, place)
  } finally {
    for (const path of [source, target]) await rm(path, { force: true }).catch(() => undefined)
  }
}

/**
 * The output's path with links resolved. Throws `unsupported` for a device or pipe, because llama.cpp only
 * writes files.
 */
async function fileAt(output: string): Promise<string> {
  const place = await realpath(output).catch(() => output)
  const found = await stat(place).catch(() => undefined)
  if (found === undefined || found.isFile()) return place
  throw new HalfbyteError(
    'unsupported',
    `${output} is not a file, and llama.cpp writes K-quants only to files; give another path`,
    { output },
  )
}

/** llama.cpp does not report a full disk, so the free space is checked while the incomplete file exists. */
async function failed(output: string, failure: string): Promise<HalfbyteError> {
  const disk = await statfs(dirname(output)).catch(() => undefined)
  const isFull = disk !== undefined && disk.bavail * disk.bsize < FULL_BYTES
  return new HalfbyteError(
    isFull ? 'storage-full' : 'unsupported',
    isFull
      ? `${output} cannot be written: llama.cpp left ${disk.bavail * disk.bsize} bytes on the disk; free some space or choose another place`
      : `llama.cpp could not write ${output}: ${failure}; choose --format q4_0 or q8_0, which need no llama.cpp`,
    { output },
  )
}

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+')
  await file.sync().finally(() => file.close())
}
