// Builds the documentation site in build/site from docs/, the documents at the root, examples/, and the
// declarations and the chat page of npm run build. With --serve it serves the site on this machine.
//
// HALFBYTE_SITE_BASE is the path at which the site will be served, such as /halfbyte/; default /.
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { deadLinks } from './links.mjs'
import { sitePage } from './page.mjs'

requirePinnedNode()

const site = join(root, 'docs/site')
const pages = join(site, 'pages')
const out = join(root, 'build/site')
/** The site path of each document in the repository. */
const PAPERS = {
  'README.md': 'start.md',
  'ARCHITECTURE.md': 'project/architecture.md',
  'CONTRIBUTING.md': 'project/contributing.md',
  'SECURITY.md': 'project/security.md',
  'CHANGELOG.md': 'project/changelog.md',
  'docs/compared.md': 'compared.md',
  'docs/tour.md': 'project/tour.md',
  'docs/walks.md': 'project/walks.md',
  'demo/models/README.md': 'project/embedded-models.md',
  'lab/train/README.md': 'project/training.md',
}
/** Folders whose documents become pages; the site omits the first part of their paths. */
const FOLDERS = ['docs/guide', 'docs/internals', 'lab/measurements']
const ENTRIES = [
  '.',
  './widget',
  './openai',
  './ai-sdk',
  './prompt-api',
  './assist',
  './embedder',
  './network',
  './tabs',
  './testing',
]

const fail = (message) => {
  console.error(`site: ${message}`)
  process.exit(1)
}

const run = (command, args, cwd = site) => {
  const { status } = spawnSync(command, args, { cwd, stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) fail(`${command} ${args[0]} ended with ${status}`)
}

const write = (path, text) => {
  mkdirSync(dirname(join(pages, path)), { recursive: true })
  writeFileSync(join(pages, path), text)
}

const markdownUnder = (folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`)

/** Whether the installed packages match the lockfile. npm writes its own copy of the lockfile last. */
const isInstalled = () => {
  const copy = join(site, 'node_modules/.package-lock.json')
  return existsSync(copy) && statSync(copy).mtimeMs > statSync(join(site, 'package-lock.json')).mtimeMs
}

/** Copies the documents, with links that work on the site. */
const writeDocuments = () => {
  const places = new Map(Object.entries(PAPERS))
  for (const folder of FOLDERS)
    for (const path of markdownUnder(folder)) places.set(path, path.replace(/^\w+\//, ''))
  places.set('examples/README.md', 'examples.md')
  for (const [from, to] of places) {
    if (from !== 'examples/README.md')
      write(to, sitePage(readFileSync(join(root, from), 'utf8'), from, places))
  }
  cpSync(join(root, 'docs/images'), join(pages, 'images'), { recursive: true })
  for (const folder of FOLDERS)
    for (const name of readdirSync(join(root, folder)).filter((name) => name.endsWith('.svg')))
      cpSync(join(root, folder, name), join(pages, folder.replace(/^\w+\//, ''), name))
  write('examples.md', sitePage(examples(), 'examples/README.md', places))
}

/** The examples' own page, and the source of each example. */
const examples = () => {
  const folder = join(root, 'examples')
  const sources = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'index.html')))
    .map(({ name }) => {
      const page = readFileSync(join(folder, name, 'index.html'), 'utf8').trimEnd()
      return `## ${name}\n\n\`\`\`html\n${page}\n\`\`\`\n`
    })
  return `${readFileSync(join(folder, 'README.md'), 'utf8')}\n${sources.join('\n')}`
}

/** Builds the reference for the package's exports from the comments in its declarations. */
const writeReference = () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entries = join(site, 'entries')
  rmSync(entries, { recursive: true, force: true })
  mkdirSync(entries, { recursive: true })
  for (const name of ENTRIES) {
    const declarations = exports[name].types
    if (!existsSync(join(root, declarations))) fail('the package is not built; run "npm run build" first')
    const module = name.replace('.', 'halfbyte')
    const text = `/** @module ${module} */\nexport * from '../../../${declarations.slice(2).replace('.d.ts', '.js')}'\n`
    writeFileSync(join(entries, `${module.replace('halfbyte/', '')}.ts`), text)
  }
  run(join(site, 'node_modules/.bin/typedoc'), [
    '--options',
    join(site, 'typedoc.json'),
    '--out',
    join(pages, 'api'),
    '--entryPoints',
    join(entries, '*.ts'),
  ])
}

if (!isInstalled()) run('npm', ['ci', '--ignore-scripts'])
rmSync(pages, { recursive: true, force: true })
writeDocuments()
cpSync(join(site, 'home.md'), join(pages, 'index.md'))
cpSync(join(root, 'demo/public/icon.svg'), join(pages, 'public/icon.svg'))
writeReference()
run(join(site, 'node_modules/.bin/vitepress'), ['build'])
const chat = join(root, 'build/demo')
if (!existsSync(join(chat, 'index.html'))) fail('the chat page is not built; run "npm run build" first')
cpSync(chat, join(out, 'chat'), { recursive: true })
const dead = deadLinks(out, process.env.HALFBYTE_SITE_BASE)
if (dead.length > 0) fail(`${dead.length} dead links:\n${dead.join('\n')}`)
console.log(`site: ${out}`)
if (process.argv.includes('--serve')) run(join(site, 'node_modules/.bin/vitepress'), ['preview'])
