// Unpacks packages of the npm registry. It needs the network and tar.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { nameAndVersion } from './peers.ts'

/** Unpacks a package below `modules`, without its dependencies and without running its scripts. */
export function unpack(spec: string, modules: string): void {
  const place = join(modules, nameAndVersion(spec).name)
  mkdirSync(place, { recursive: true })
  const archive = run('npm', ['pack', spec, '--silent', '--ignore-scripts'], modules).trim()
  run('tar', ['-xzf', archive, '--strip-components=1', '-C', place], modules)
  rmSync(join(modules, archive))
}

/** Runs a command in a folder and returns its output. */
function run(command: string, args: readonly string[], folder: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout
}
