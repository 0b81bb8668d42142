// npm run soak -- --minutes N [--seed S] [--folder PATH] runs test/soak/run.ts in a process whose allocator
// returns freed memory.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

// glibc gives each thread an arena and retains memory in fragmented arenas. With a single arena, resident
// memory is the memory in use.
const { status } = spawnSync(
  process.execPath,
  ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'run.ts'), ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, MALLOC_ARENA_MAX: '1' } },
)
process.exitCode = status ?? 1
