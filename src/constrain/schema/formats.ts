// Formats. In: the name of a string format. Out: a pattern whose texts all have that format.
// Each pattern is a subset that validators agree on. Its texts are valid, but it does not cover every valid
// text.

const HEX = '[0-9a-fA-F]'
const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `(${OCTET}\\.){3}${OCTET}`
const LABEL = '[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?'
const HOST = `${LABEL}(\\.${LABEL}){0,5}`
const DOMAIN = `${LABEL}(\\.${LABEL}){0,4}\\.[A-Za-z]{2,12}`
/** February 29 is allowed only in leap years. */
const LEAP_YEAR = '([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)'
const DATE =
  '([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)|' +
  `[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])|${LEAP_YEAR}-02-29)`
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])'
const DURATION_TIME = 'T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S)'
const PATH = "(/([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){0,200}){0,20}"
const QUERY = "(\\?([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-F]{2}){0,200})?"

const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date: DATE,
    time: TIME,
    'date-time': `${DATE}T${TIME}`,
    duration: `P([0-9]{1,4}W|[0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?(${DURATION_TIME})?|[0-9]{1,4}M([0-9]{1,4}D)?(${DURATION_TIME})?|[0-9]{1,4}D(${DURATION_TIME})?|${DURATION_TIME})`,
    email: `[A-Za-z0-9_+-]{1,20}(\\.[A-Za-z0-9_+-]{1,20}){0,3}@${DOMAIN}`,
    hostname: HOST,
    ipv4: IPV4,
    ipv6: `(${HEX}{1,4}:){7}${HEX}{1,4}|::|(${HEX}{1,4}:){1,6}:${HEX}{1,4}`,
    uri: `https?://${HOST}(:[1-9][0-9]{0,3})?${PATH}${QUERY}(#[A-Za-z0-9._~!$&'()*+,;=:@/?-]{0,200})?`,
    uuid: `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  }),
)

export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()]

/** The anchored pattern of a format; undefined if the format is unknown. */
export function formatPattern(name: string): string | undefined {
  const pattern = FORMATS.get(name)
  return pattern && `^(?:${pattern})$`
}
