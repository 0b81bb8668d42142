// `npm run make`: the command line around make-pack.ts. In: the name of a pack. Out: an exit code.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { HalfbyteError } from '../../src/core/base/errors.ts'
import { type EngineFlags, threadsOption } from '../../src/tools/cli/options.ts'
import { report, systemError } from '../../src/tools/cli/terminal/failure.ts'
import { MODELS, REAL_MODELS, realModel } from '../models/real-models.mjs'
import { makePack } from './make-pack.ts'
import { PACKS } from './packs.ts'
import { PROMPTS } from './prompts.ts'

/** The page's build reads this folder, and git ignores it. */
const PACKS_FOLDER = fileURLToPath(new URL('../../demo/models/made', import.meta.url))

/** 8,192 tokens, and 2,048 more to evaluate the pack. */
const TEXT = { replyTokens: 160, windows: 32, windowTokens: 256 }

type MakeFlags = Pick<EngineFlags, 'threads'>

/** Returns the exit code. `find`: returns a model's file, or undefined if it is not set up. */
export async function main(args: readonly string[], find = realModel): Promise<number> {
  const command = new Command('npm run make --')
    .description(
      'Makes a smaller pack of a downloaded model, and adds it to those that the chat page offers.',
    )
    .argument('[pack]', `one of: ${Object.keys(PACKS).join(', ')}`)
    .addOption(threadsOption())
    .exitOverride()
    .action((name: string | undefined, flags: MakeFlags) => make(name, flags, find))
  try {
    await command.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    const next = 'make its folder writable'
    return report(systemError(error, 'unsupported', 'a file of the pack cannot be written', next))
  }
}

async function make(name: string | undefined, { threads }: MakeFlags, find: typeof realModel): Promise<void> {
  if (name === undefined) return list(find)
  const made = Object.hasOwn(PACKS, name) ? PACKS[name] : undefined
  if (made === undefined) {
    const known = Object.keys(PACKS).join(', ')
    throw new HalfbyteError('unsupported', `make knows ${known}; not ${name}`, { name })
  }
  const model = find(made.model)
  if (model === undefined) throw notSetUp(name, made.model)
  const work = join(MODELS, '..', 'make', name)
  const { pack, bytes, sha256 } = await makePack(made, {
    ...{ model, packs: PACKS_FOLDER, work, prompts: PROMPTS, threads },
    ...TEXT,
  })
  console.log(`make: ${name} is at ${pack} (${bytes} bytes, SHA-256 ${sha256})`)
  console.log('make: "npm run build -- demo" adds it to the page, and "npm start" opens the page')
}

function list(find: typeof realModel): void {
  console.log('Packs that "npm run make -- NAME" can make:')
  for (const [name, { card, model }] of Object.entries(PACKS)) {
    const state =
      find(model) === undefined ? `first run "npm run setup -- ${model}"` : 'its model is downloaded'
    console.log(`  ${name}  ${card.title} for the chat page, ${card.languages}, ${card.licence}; ${state}`)
  }
}

function notSetUp(name: string, model: keyof typeof REAL_MODELS): HalfbyteError {
  const { title, sizeBytes } = REAL_MODELS[model]
  return new HalfbyteError(
    'unsupported',
    `${name} is made from ${title} (${sizeBytes} bytes), which is not set up; run "npm run setup -- ${model}" first`,
    { name, model },
  )
}
