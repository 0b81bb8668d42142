// Python, for tests that run Python programs. HALFBYTE_PYTHON selects one other than the first on the path.
import { spawnSync } from 'node:child_process'
import type { TestContext } from 'vitest'
import { DEFAULT_PYTHON } from '../../../src/tools/cli/run-python.ts'

export const PYTHON = process.env['HALFBYTE_PYTHON'] ?? DEFAULT_PYTHON

const FIND =
  'import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None], sep=", ")'

/** Skips the test, and says why, unless Python and the modules are installed. */
export function needsModules({ skip }: TestContext, ...modules: readonly string[]): void {
  const { status, stdout } = spawnSync(PYTHON, ['-c', FIND, ...modules], { encoding: 'utf8' })
  if (status !== 0) skip(`skipped: ${PYTHON} does not run; install Python, or set HALFBYTE_PYTHON`)
  const missing = stdout.trim()
  if (missing !== '') skip(`skipped: ${PYTHON} lacks ${missing}; install it with pip, or set HALFBYTE_PYTHON`)
}
