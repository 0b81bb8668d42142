// Validation for tests. In: a schema. Out: ajv's verdict on texts and values; formats are checked
// independently of our code.
import { Ajv2020 } from 'ajv/dist/2020.js'

const isDate = (text: string) =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) &&
  new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)

const isTime = (text: string) => {
  const parts = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/.exec(text)
  const [, hours, minutes, seconds, awayHours = 0, awayMinutes = 0] = parts?.map(Number) ?? []
  if (hours === undefined || minutes === undefined || seconds === undefined) return false
  const isAway = !(Number(awayHours) > 23 || Number(awayMinutes) > 59)
  return hours < 24 && minutes < 60 && seconds < 60 && isAway
}

const isRegex = (text: string) => {
  try {
    return new RegExp(text, 'u') instanceof RegExp
  } catch {
    return false
  }
}

const isUrl = (text: string) => URL.canParse(text) && /^[\x21-\x7e]+$/.test(text)

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': (text) => isDate(text.slice(0, 10)) && text[10] === 'T' && isTime(text.slice(11)),
  duration: (text) => /^P(?!$)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$/.test(text),
  email: (text) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/.test(text) && isUrl(`mailto:${text}`),
  hostname: (text) =>
    text.length <= 253 && text.split('.').every((part) => /^(?!-)[\w-]{1,63}(?<!-)$/.test(part)),
  ipv4: (text) =>
    text.split('.').length === 4 &&
    text.split('.').every((part) => String(Number(part)) === part && Number(part) < 256),
  ipv6: (text) => isUrl(`http://[${text}]/`),
  uri: isUrl,
  'idn-email': (text) => FORMATS['email']!(text),
  'idn-hostname': (text) => FORMATS['hostname']!(text),
  iri: isUrl,
  'uri-reference': (text) => URL.canParse(text, 'http://h/') && /^[\x21-\x7e]*$/.test(text),
  'iri-reference': (text) => FORMATS['uri-reference']!(text),
  'uri-template': (text) => isUrl(text.replaceAll(/\{[A-Za-z]+\}/g, 'x')),
  'json-pointer': (text) => /^(\/([^~]|~[01])*)?$/.test(text),
  'relative-json-pointer': (text) => /^(0|[1-9]\d*)(#|(\/([^~]|~[01])*)?)$/.test(text),
  regex: (text) => isRegex(text),
  uuid: (text) => /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/i.test(text),
}

/**
 * One instance for all schemas, because every instance compiles the meta-schema, which takes longer than the
 * schemas.
 */
const ajv = new Ajv2020({ strict: false, logger: false, multipleOfPrecision: 9 })
for (const [name, judge] of Object.entries(FORMATS)) ajv.addFormat(name, judge)

/** Whether the schema allows a value. */
export function validator(schema: object): (value: unknown) => boolean {
  try {
    return ajv.compile(schema)
  } finally {
    // Another schema may have the same address, and tests create thousands of schemas.
    ajv.removeSchema(schema)
  }
}
