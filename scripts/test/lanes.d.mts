import type { SpawnOptions } from 'node:child_process'
import type { Report } from './test-reports.mjs'

type Print = (piece: Uint8Array | string) => void

export function endWithRun(): void
export function runCommand(
  command: string,
  args: readonly string[],
  options: SpawnOptions & { readonly limitMs?: number; readonly print?: Print | undefined },
): Promise<boolean>
export function runSteps(
  steps: readonly (readonly (readonly string[])[])[],
  suites: Readonly<Record<string, (print: Print | undefined) => Promise<Report>>>,
  write: Print,
): Promise<{
  total: Readonly<Record<'passed' | 'failed' | 'skipped', number>>
  lines: readonly string[]
  failing: readonly string[]
}>
