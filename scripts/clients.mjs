// Installs the clients of e2e/clients, including the Python ones if Python is available, and runs their tests
// on a built dist.
//
// npm run test:clients -- -g "AI SDK" runs the tests whose title contains these words. npm test does not run
// them, because the clients are many packages.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testInstalled } from './installed-tests.mjs'
import { root } from './pinned-node.mjs'

const folder = join(root, 'build/clients-python')
const requirements = join(root, 'e2e/clients/python/requirements.txt')
/** A copy of the requirements file, written once they are installed. */
const done = join(folder, 'installed.txt')
const python = join(folder, process.platform === 'win32' ? 'Scripts/python.exe' : 'bin/python')

const runs = (program, args) =>
  spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status === 0

/**
 * Creates a Python environment with the clients unless it exists. Returns the reason if that fails, otherwise
 * undefined. `HALFBYTE_PYTHON` names the Python to use.
 */
function installPythonClients() {
  const wanted = readFileSync(requirements, 'utf8')
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return undefined
  const system = process.env.HALFBYTE_PYTHON ?? 'python3'
  rmSync(folder, { recursive: true, force: true })
  if (!runs(system, ['-m', 'venv', folder]))
    return `${system} -m venv does not run; install Python with venv, or set HALFBYTE_PYTHON`
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-deps']
  if (!runs(python, ['-m', 'pip', 'install', ...quiet, '-r', requirements]))
    return 'pip could not install e2e/clients/python/requirements.txt; see its message above'
  writeFileSync(done, wanted)
  return undefined
}

const missing = installPythonClients()
process.env.HALFBYTE_CLIENTS_PYTHON = missing === undefined ? python : ''
process.env.HALFBYTE_CLIENTS_MISSING = missing ?? ''
testInstalled('e2e/clients')
