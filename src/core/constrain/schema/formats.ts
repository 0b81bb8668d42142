// Formats. In: the name of a format. Out: the pattern of the texts that are generated for it.

const HEX = '[0-9a-fA-F]'
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `(${OCTET}\\.){3}${OCTET}`
/** February 29 is allowed only in leap years. */
const LEAP_YEAR = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)'
const DATE =
  '([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)|' +
  `[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])|${LEAP_YEAR}-02-29)`
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])'
const DURATION_TIME = 'T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S)'

/**
 * Characters of a path, of its first segment if that could be mistaken for a scheme, and of the text after
 * `?` and `#`.
 */
const PATH_CHARS = "A-Za-z0-9._~!$&'()*+,;=:@-"
const FIRST_CHARS = PATH_CHARS.replace(':', '')
const QUERY_CHARS = `/?${PATH_CHARS}`

/**
 * How often a part may repeat: a small number of times, or without limit if the whole length is limited
 * elsewhere.
 */
type Counts = (most: number) => string

/** Formats whose texts may be long. */
function longFormats(upTo: Counts): Readonly<Record<string, string>> {
  const label = `[A-Za-z0-9]([A-Za-z0-9-]${upTo(30)}[A-Za-z0-9])?`
  const host = `${label}(\\.${label})${upTo(5)}`
  const word = `[A-Za-z0-9_+-][A-Za-z0-9_+-]${upTo(19)}`
  const email = `${word}(\\.${word})${upTo(3)}@${label}(\\.${label})${upTo(4)}\\.[A-Za-z]{2,12}`
  const some = (chars: string) => `([${chars}]|%[0-9A-F]{2})${upTo(200)}`
  const path = `(/${some(PATH_CHARS)})${upTo(20)}`
  const end = `(\\?${some(QUERY_CHARS)})?(#[${QUERY_CHARS}]${upTo(200)})?`
  const uri = `https?://${host}(:[1-9][0-9]{0,3})?${path}${end}`
  const reference = `${uri}|/?[${FIRST_CHARS}][${FIRST_CHARS}]${upTo(100)}${path}${end}|#[${QUERY_CHARS}]${upTo(200)}`
  const pointer = `(/([^~/\\x00-\\x1f]|~[01])${upTo(40)})${upTo(10)}`
  return {
    email,
    'idn-email': email,
    hostname: host,
    'idn-hostname': host,
    uri,
    iri: uri,
    'uri-reference': reference,
    'iri-reference': reference,
    'uri-template': `https?://${host}(/[${PATH_CHARS}]${upTo(100)}|/\\{[A-Za-z]${upTo(20)}[A-Za-z]\\})${upTo(10)}`,
    'json-pointer': pointer,
    'relative-json-pointer': `(0|[1-9][0-9]{0,3})(#|${pointer})`,
    regex: `\\^?(([A-Za-z0-9 _,:;=@#%&~<>/-]|\\.|\\\\[dswDSW.])[*+?]?)${upTo(60)}\\$?`,
  }
}

const SHORT: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  duration: `P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?(${DURATION_TIME})?|[0-9]{1,4}M([0-9]{1,4}D)?(${DURATION_TIME})?|[0-9]{1,4}D(${DURATION_TIME})?|${DURATION_TIME})`,
  ipv4: IPV4,
  ipv6: `(${HEX}{1,4}:){7}${HEX}{1,4}|::|(${HEX}{1,4}:){1,6}:${HEX}{1,4}`,
  uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
}

const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...SHORT, ...longFormats((most) => `{0,${most}}`) }),
)
const COUNTED: ReadonlyMap<string, string> = new Map(Object.entries({ ...SHORT, ...longFormats(() => '*') }))

export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()]

/**
 * The anchored pattern of a format; undefined for a format that is only an annotation. `isCounted`: the
 * text's length is limited elsewhere, so the pattern sets no limits for its parts, which would take many
 * states.
 */
export function formatPattern(name: string, isCounted: boolean): string | undefined {
  const pattern = (isCounted ? COUNTED : FORMATS).get(name)
  return pattern && `^(?:${pattern})$`
}
