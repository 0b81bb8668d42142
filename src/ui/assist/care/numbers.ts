// Emergency numbers. In: a region. Out: its emergency numbers.

/** The numbers of a region. Instead of an unknown number, the answer says "your local emergency number". */
export interface Numbers {
  /** For both ambulance and police. */
  readonly emergency?: string
  /** Help lines for people in a crisis. */
  readonly crisis?: string
}

/**
 * Sources: 112 in the European Union by Directive (EU) 2018/1972, article 109, and in Iceland, Norway,
 * Switzerland and Turkey; 911 in the United States by the Wireless Communications and Public Safety Act of
 * 1999, and in Canada by the CRTC; 999, as well as 112, in the United Kingdom and Ireland; 000 in Australia
 * by the Triple Zero Custodian; 111 in New Zealand by its police.
 */
const EUROPEAN =
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IT LT LU LV MT NL PL PT RO SE SI SK IS NO CH TR'.split(' ')

/** Police and ambulance have separate numbers in Japan, Korea and Taiwan; 119 is for ambulances. */
const NUMBERS: ReadonlyMap<string, Numbers> = new Map<string, Numbers>([
  ...['EU', ...EUROPEAN].map((region) => [region, { emergency: '112' }] as const),
  ['US', { emergency: '911', crisis: '988' }],
  ['CA', { emergency: '911', crisis: '988' }],
  ['GB', { emergency: '999', crisis: '116 123' }],
  ['IE', { emergency: '112', crisis: '116 123' }],
  ['AU', { emergency: '000', crisis: '13 11 14' }],
  ['NZ', { emergency: '111' }],
])
const AMBULANCES: ReadonlyMap<string, string> = new Map([
  ['JP', '119'],
  ['KR', '119'],
  ['TW', '119'],
])

/**
 * The numbers of a region, given as an ISO 3166 code. With `isMedical`, the number for ambulances if the
 * police have a different one.
 */
export const numbersOf = (region: string | undefined, isMedical: boolean): Numbers => {
  if (region === undefined) return {}
  const ambulance = isMedical ? AMBULANCES.get(region) : undefined
  return ambulance === undefined ? (NUMBERS.get(region) ?? {}) : { emergency: ambulance }
}

const AMERICA = /^(?:America\/|Pacific\/Honolulu|US\/|Canada\/)/
/** The time zones of the regions above, by the beginning of their names. */
const ZONES: ReadonlyMap<string, RegExp> = new Map([
  ['US', AMERICA],
  ['CA', AMERICA],
  ['AU', /^Australia\//],
  ['NZ', /^Pacific\/(?:Auckland|Chatham)/],
  ['JP', /^(?:Asia\/Tokyo|Japan)/],
  ['KR', /^(?:Asia\/Seoul|ROK)/],
  ['TW', /^(?:Asia\/Taipei|ROC)/],
])
const EUROPE = /^(?:Europe\/|Atlantic\/(?:Azores|Canary|Faroe|Madeira|Reykjavik))/
/**
 * The region of a user with this language and time zone, if both agree or the time zone alone determines it.
 * Many browsers outside the United States are set to `en-US`, so the language alone does not.
 */
export function regionOf(tag: string | undefined, timeZone: string | undefined): string | undefined {
  if (timeZone === undefined) return undefined
  const region = namedRegion(tag)
  const isEuropean = region !== undefined && (EUROPEAN.includes(region) || region === 'GB' || region === 'IE')
  // 112 works everywhere in the European Union and in the neighbouring countries above.
  if (EUROPE.test(timeZone)) return isEuropean ? region : 'EU'
  if (region !== undefined && ZONES.get(region)?.test(timeZone)) return region
  // Time zones of America are also used in other regions.
  return [...ZONES].find(([, zone]) => zone !== AMERICA && zone.test(timeZone))?.[0]
}

function namedRegion(tag: string | undefined): string | undefined {
  try {
    return tag === undefined ? undefined : new Intl.Locale(tag).region
  } catch {
    return undefined
  }
}
