// A process that holds a lock until it is killed. In: the folder, the lock's name. Out: a line once it holds
// it.
import { lockFiles } from '../lock-files.ts'

const [, , folder = '', name = ''] = process.argv
await lockFiles(folder, { beatMs: 20 })(name, async () => {
  process.stdout.write('held\n')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
})
