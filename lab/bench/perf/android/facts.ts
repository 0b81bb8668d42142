// Reads a device's model, temperature and battery level through its shell, and checks whether it can be
// measured now.

export interface DeviceFacts {
  readonly model: string
  /** Name of the system on a chip; empty if the device does not report it. */
  readonly soc: string
  readonly android: string
  /** Chrome's version; empty if it is not installed. */
  readonly chrome: string
  /** The governor of the first core's clock; empty if the device does not report it. */
  readonly governor: string
}

export interface Battery {
  readonly percent: number
  /** Degrees Celsius. */
  readonly celsius: number
  /** Watts drawn from the battery; undefined if the device does not report it, or while it charges. */
  readonly watts: number | undefined
}

/** Placeholder facts for a device that disappeared before it reported any. */
export const UNKNOWN_FACTS: DeviceFacts = {
  model: 'Unknown phone',
  soc: '',
  android: '',
  chrome: '',
  governor: '',
}
export const UNKNOWN_BATTERY: Battery = { percent: Number.NaN, celsius: Number.NaN, watts: undefined }

export type Shell = (command: string) => Promise<string>

/** The oldest Chrome with SIMD and threads in WebAssembly on Android. */
const MIN_CHROME = 91
/** Above this temperature, devices lower their clocks, so the figure would not count as cold. */
const MAX_CELSIUS = 40
const MIN_PERCENT = 20

export async function readFacts(shell: Shell): Promise<DeviceFacts> {
  const line = async (command: string) => (await shell(command)).trim().split('\n', 1)[0]?.trim() ?? ''
  const known = (text: string) => (/No such file|Permission denied|not found/.test(text) ? '' : text)
  const soc = await line('getprop ro.soc.model')
  const board = await line('getprop ro.board.platform')
  const packages = await shell('dumpsys package com.android.chrome')
  return {
    model: await line('getprop ro.product.model'),
    soc: soc || board,
    android: await line('getprop ro.build.version.release'),
    chrome: /versionName=(\S+)/.exec(packages)?.[1] ?? '',
    governor: known(await line('cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor')),
  }
}

export async function readBattery(shell: Shell): Promise<Battery> {
  const status = await shell('dumpsys battery')
  const field = (name: string) =>
    Number(new RegExp(`^\\s*${name}: (-?\\d+)`, 'm').exec(status)?.[1] ?? Number.NaN)
  const isPlugged = /(AC|USB|Wireless) powered: true/.test(status)
  const microamperes = Number.parseInt(await shell('cat /sys/class/power_supply/battery/current_now'), 10)
  // Devices disagree on the sign.
  const watts = (Math.abs(microamperes) / 1e6) * (field('voltage') / 1e3)
  return {
    percent: field('level'),
    celsius: field('temperature') / 10,
    watts: isPlugged || !Number.isFinite(watts) || watts === 0 ? undefined : watts,
  }
}

/** Says why the device cannot be measured now, with the number; undefined if it can. */
export function whyNot({ model, chrome }: DeviceFacts, { percent, celsius }: Battery): string | undefined {
  if (chrome === '') return `${model} has no Chrome; install it.`
  if (Number.parseInt(chrome, 10) < MIN_CHROME) {
    return `${model} has Chrome ${chrome}; at least ${MIN_CHROME} is needed. Update it.`
  }
  if (celsius > MAX_CELSIUS) {
    return `${model} is ${celsius} °C warm; at most ${MAX_CELSIUS} °C gives a cold figure. Let it cool down.`
  }
  return percent < MIN_PERCENT
    ? `The battery of ${model} is at ${percent} %; at least ${MIN_PERCENT} % is needed. Charge it, then unplug it.`
    : undefined
}
