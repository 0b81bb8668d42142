// `npm run bench:harness` compares the scores of lm-evaluation-harness, through `halfbyte serve`, with those
// of `halfbyte eval`. The tasks are the harness's own, with the same items.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import { Command } from 'commander'
import { type TaskSpec, taskSpec } from '../../../src/tools/cli/eval/tasks.ts'
import { tableOf } from '../../../src/tools/evaluate/report.ts'
import { modelPathOf } from './model-path.ts'

interface Options {
  readonly model: string
  readonly python: string
  readonly tokenizer?: string
  readonly limit: number
  readonly concurrent: number
}

const command = new Command('bench:harness')
  .description(
    'Compares scores of lm-evaluation-harness, through halfbyte serve, with those of halfbyte eval.',
  )
  .argument('<task=file...>', 'arc_easy, arc_challenge, piqa or lambada, as for halfbyte eval', taskSpec)
  .option('--model <name or file>', 'a name of "npm run setup", or a GGUF file', 'smollm2')
  .option('--tokenizer <file>', "the model's tokenizer.json; default: SmolLM2's")
  .requiredOption('--python <program>', 'a Python with lm_eval[api] and transformers')
  .option('--limit <n>', 'items of each task', Number, 100)
  .option('--concurrent <n>', 'concurrent requests of the harness', Number, 4)
  .parse()
const options = command.opts<Options>()
const [specs] = command.processedArgs as [readonly TaskSpec[]]
const root = new URL('../../../', import.meta.url)
const MAIN = fileURLToPath(new URL('src/tools/cli/main.ts', root))

type Row = Readonly<Record<string, unknown>>

/** For each task, how a line of its file becomes a row of the hub's data set, and the harness's task file. */
const TASKS: Readonly<
  Record<string, { readonly file: string; readonly row: (line: Row, label: string) => Row }>
> = {
  arc_easy: { file: 'arc/arc_easy.yaml', row: arcRow },
  arc_challenge: { file: 'arc/arc_challenge.yaml', row: arcRow },
  piqa: {
    file: 'piqa/piqa.yaml',
    row: (line, label) => ({ ...line, label: Number(line['label'] ?? label) }),
  },
  lambada: { file: 'lambada/lambada_openai.yaml', row: ({ text }) => ({ text }) },
}

function arcRow(line: Row): Row {
  const { question, answerKey } = line
  const nested = question as { readonly stem?: string; readonly choices?: readonly Row[] }
  if (nested.choices === undefined) return line
  const column = (key: string) => nested.choices?.map((choice) => choice[key])
  return { question: nested.stem, choices: { text: column('text'), label: column('label') }, answerKey }
}

/** Returns the harness's folder. Exits with a message if Python lacks a module. */
function harnessFolder(): string {
  const find =
    'import importlib.util as u; import transformers, aiohttp; print(u.find_spec("lm_eval").origin)'
  const { status, stdout } = spawnSync(options.python, ['-c', find], { encoding: 'utf8' })
  if (status === 0) return dirname(stdout.trim())
  console.error(
    `${options.python} does not run, or lacks lm_eval or transformers; run: ${options.python} -m pip install "lm_eval[api]==0.4.13" transformers`,
  )
  process.exit(1)
}

const folder = mkdtempSync(join(tmpdir(), 'halfbyte-harness-'))
const children: ChildProcess[] = []
process.on('exit', () => {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true })
})

/** Runs a program to completion, with its messages on stderr. */
async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, {
    stdio: ['ignore', process.stderr, process.stderr],
    env: { ...process.env, HF_HUB_OFFLINE: '1', HF_DATASETS_OFFLINE: '1', HF_HOME: join(folder, 'hub') },
  })
  children.push(child)
  const [status] = await once(child, 'close')
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}`)
}

async function serve(model: string): Promise<{ readonly address: string; close(): Promise<void> }> {
  const child = spawn(process.execPath, [MAIN, 'serve', model, '--port', '0', '--quiet'], {
    stdio: ['ignore', 'pipe', process.stderr],
  })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const address = / answers at (\S+)$/.exec(line)?.[1]
    if (address === undefined) continue
    return {
      address,
      close: async () => {
        child.kill('SIGINT')
        await once(child, 'close')
      },
    }
  }
  throw new Error('halfbyte serve ended before it answered')
}

/** The items of a task for the harness: its own task file, with the first lines of `spec` as the data. */
async function writeTask(spec: TaskSpec, harness: string): Promise<void> {
  const { file, row } = TASKS[spec.name]!
  const [items = '', labels = ''] = await Promise.all(spec.paths.map((path) => readFile(path, 'utf8')))
  const given = labels.split('\n')
  const lines = items.split('\n').filter((line) => line.trim() !== '')
  const rows = lines.slice(0, options.limit).map((line, at) => row(JSON.parse(line), given[at] ?? ''))
  const data = join(folder, `${spec.name}.jsonl`)
  await writeFile(data, rows.map((each) => `${JSON.stringify(each)}\n`).join(''))
  const task = {
    include: join(harness, 'tasks', file),
    task: `own_${spec.name}`,
    tag: null,
    dataset_path: 'json',
    dataset_name: null,
    dataset_kwargs: { data_files: { test: data } },
    training_split: null,
    validation_split: null,
    test_split: 'test',
  }
  // JSON is also valid YAML.
  await writeFile(join(folder, `own_${spec.name}.yaml`), JSON.stringify(task))
}

async function writeTokenizer(): Promise<string> {
  const path = join(folder, 'tokenizer')
  await mkdir(path)
  const own = join(path, 'tokenizer.json')
  if (options.tokenizer !== undefined) await copyFile(options.tokenizer, own)
  else {
    const packed = new URL('test/fixtures/tokenizers/smollm.tokenizer.json.br', root)
    await writeFile(own, brotliDecompressSync(await readFile(packed)))
  }
  const config = { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>' }
  await writeFile(join(path, 'tokenizer_config.json'), JSON.stringify(config))
  return path
}

interface Result {
  readonly metrics: Readonly<Record<string, number>>
  /** Log-likelihoods, by item and choice. */
  readonly items: readonly (readonly number[])[]
}

async function ownResults(model: string): Promise<ReadonlyMap<string, Result>> {
  const [output, samples] = [join(folder, 'own.json'), join(folder, 'own.jsonl')]
  const tasks = specs.map(({ name, paths }) => `${name}=${paths.join()}`)
  const to = ['--output', output, '--samples', samples]
  await run(process.execPath, [
    MAIN,
    'eval',
    model,
    ...tasks,
    '--limit',
    `${options.limit}`,
    '--no-bos',
    ...to,
  ])
  const report = JSON.parse(await readFile(output, 'utf8'))
  const lines = (await readFile(samples, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return new Map(
    specs.map(({ name }) => {
      const { metrics } = report.tasks.find(({ task }: { task: string }) => task === name)
      const found = lines.filter(({ task }) => task === name).map(({ result }) => result as number[])
      return [
        name,
        {
          metrics: Object.fromEntries(
            Object.entries(metrics).map(([key, each]) => [key, (each as { value: number }).value]),
          ),
          // The second number of LAMBADA says whether greedy decoding produces the word.
          items: name === 'lambada' ? found.map((result) => result.slice(0, 1)) : found,
        },
      ]
    }),
  )
}

async function harnessResults(model: string): Promise<ReadonlyMap<string, Result>> {
  const harness = harnessFolder()
  for (const spec of specs) await writeTask(spec, harness)
  const serving = await serve(model)
  const given = {
    model: 'served',
    base_url: `${serving.address}/completions`,
    tokenizer_backend: 'huggingface',
    tokenizer: await writeTokenizer(),
    num_concurrent: options.concurrent,
  }
  const args = Object.entries(given).map(([key, value]) => `${key}=${value}`)
  const names = specs.map(({ name }) => `own_${name}`)
  const output = join(folder, 'theirs')
  await run(options.python, [
    ...['-m', 'lm_eval', 'run', '--model', 'local-completions', '--model_args', args.join()],
    ...['--tasks', names.join(), '--include_path', folder, '--log_samples', '--output_path', output],
  ])
  await serving.close()
  const files = await readdir(output, { recursive: true })
  const read = (start: string) => {
    const file = files.find((name) => name.split(/[\\/]/).at(-1)?.startsWith(start))
    return readFile(join(output, file!), 'utf8')
  }
  const report = JSON.parse(await read('results'))
  const found = specs.map(async ({ name }): Promise<[string, Result]> => {
    const lines = (await read(`samples_own_${name}`)).split('\n').filter(Boolean)
    const samples = lines.map((line) => JSON.parse(line)).sort((one, other) => one.doc_id - other.doc_id)
    const metrics = Object.entries(report.results[`own_${name}`])
      .filter(([key]) => key.endsWith(',none'))
      .map(([key, value]) => [key.replace(',none', ''), value as number])
    const items = samples.map(({ resps }) => resps.map(([[sum]]: [[unknown]]) => Number(sum)))
    return [name, { metrics: Object.fromEntries(metrics), items }]
  })
  return new Map(await Promise.all(found))
}

const unknown = specs.find(({ name }) => TASKS[name] === undefined)
if (unknown !== undefined) command.error(`give ${Object.keys(TASKS).join(', ')}; not ${unknown.name}`)
const model = modelPathOf(options.model)
const theirs = await harnessResults(model)
const ours = await ownResults(model)
const lines = specs.flatMap(({ name }) => {
  const [own, other] = [ours.get(name)!, theirs.get(name)!]
  const gaps = own.items.flatMap((item, at) =>
    item.map((value, choice) => Math.abs(value - (other.items[at]?.[choice] ?? Number.NaN))),
  )
  const written = (key: string, value: number) =>
    key === 'perplexity' ? value.toFixed(3) : (100 * value).toFixed(1)
  return Object.entries(own.metrics).map(([key, value], at) => [
    at === 0 ? name : '',
    `\`${key}\``,
    written(key, value),
    written(key, other.metrics[key] ?? Number.NaN),
    at === 0 ? Math.max(...gaps).toExponential(1) : '',
  ])
})
const head = ['task', 'metric', '`halfbyte eval`', '`lm_eval`', 'largest difference of a log-likelihood']
process.stdout.write(tableOf(head, lines, 2))
