// Loads an engine that the tabs of this site share.

import { digest, hex } from '../../../core/base/sha256.ts'
import { localConnection, startEngineWorker } from '../../wire/connection.ts'
import { Engine } from '../engine.ts'
import { noted } from '../interrupted.ts'
import { checkedLoad } from '../request/load-options.ts'
import { engineKey, loadRequest, workerAddress } from '../request/load-request.ts'
import type { LoadOptions, ModelSource } from '../types.ts'
import { localHost } from './local-host.ts'
import { endingWith, TabService } from './tab-service.ts'

/**
 * Like `Engine.load`, but tabs of this origin that load the same model with the same options share one
 * engine, and so its memory. It runs in one of the tabs; when that tab closes, another one loads the model
 * from this device, and replies in progress continue there. A reply that cannot continue rejects with
 * `disposed`. If the engine fails, pending requests reject with `internal`, and the next request loads the
 * engine again. Files, and pages without Web Locks, get their own engine.
 */
export async function loadForTabs(source: ModelSource, given: LoadOptions = {}): Promise<Engine> {
  const options = checkedLoad(given, 'onProgress')
  options.signal?.throwIfAborted()
  const key = engineKey(source, options)
  if (key === undefined || !(await mayLock())) return Engine.load(source, options)
  const tab = new TabService(nameOf(key), (onProgress, onDeath) => {
    let onNeed = (_: number) => {}
    const hooks = { onProgress, onDeath, onNeed: (bytes: number) => onNeed(bytes) }
    const host = localHost(startEngineWorker(workerAddress(options)), loadRequest(source, options), hooks)
    noted(source, options, (its) => {
      onNeed = its.onNeed ?? onNeed
      return host.loaded
    }).catch(() => undefined)
    return host
  })
  return Engine.open(endingWith(localConnection(tab.service), tab), source, options)
}

/** Pages over plain HTTP have no locks, and sandboxed frames are denied them. */
async function mayLock(): Promise<boolean> {
  try {
    await navigator.locks.request('halfbyte', { ifAvailable: true }, () => undefined)
    return true
  } catch {
    return false
  }
}

/** A hub token is part of the key, so the key is hashed: lock names must not reveal it. */
const nameOf = (key: string): string => hex(digest(new TextEncoder().encode(key))).slice(0, 32)
