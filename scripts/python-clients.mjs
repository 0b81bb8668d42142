// A Python environment with the clients of e2e/clients/python, for the tests that run them.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './pinned-node.mjs'

const folder = join(root, 'build/clients-python')
const requirements = join(root, 'e2e/clients/python/requirements.txt')
/** A copy of the requirements, once they are installed. */
const done = join(folder, 'installed.txt')
const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')

const runs = (program, args) =>
  spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0

/**
 * Installs the clients unless they are. Returns the path of their Python, or why there is none.
 * `HALFBYTE_PYTHON` names the Python to start from.
 */
export function installPythonClients() {
  const wanted = readFileSync(requirements, 'utf8')
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return { python }
  const system = process.env.HALFBYTE_PYTHON ?? 'python3'
  rmSync(folder, { recursive: true, force: true })
  if (!runs(system, ['-m', 'venv', folder]))
    return { missing: `${system} -m venv does not run; install Python with venv, or set HALFBYTE_PYTHON` }
  const install = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--no-deps',
    '-r',
    requirements,
  ]
  if (!runs(python, install))
    return { missing: `pip could not install e2e/clients/python/requirements.txt; see its message above` }
  writeFileSync(done, wanted)
  return { python }
}
