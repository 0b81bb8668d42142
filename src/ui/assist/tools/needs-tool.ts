// Which messages may need a tool. In: a message. Out: whether it is about a sum, a unit, a date or a time.

/** Longer messages are texts to work on, not questions. */
const LONGEST = 600

/** Words of questions for a number. */
const ASKS =
  /\b(?:how (?:many|much|old|far|long|big|tall|heavy|fast|hot|cold)|what(?:'s|’s| is| are| was| do| does| will| would| should)?|calculate|compute|convert|add|subtract|multiply|divide|work out|total|average|percent(?:age)?|split)\b/i
const HAS_NUMBER =
  /\p{Nd}|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|dozen|hundred|thousand|million|half)\b/iu

/** A number next to a sign of arithmetic, of a currency or of a unit, in any language. */
const MEASURED =
  /\p{Nd}\s*(?:[-+*/×÷^=%٪](?!\p{L})|[$€£¥₹₽₩₪]|°|(?:[kcmµ]?m|km\/h|mph|kg|mg|g|lbs?|oz|ml|cl|l|ft|in|mi|kb|mb|gb|tb|kwh|w|h|hrs?|min|s)\b)|[$€£¥₹₽₩₪]\s*\p{Nd}/iu

/** Questions about the present date or time, the time elsewhere, or the days until a date. */
const CALENDAR = [
  String.raw`\b(?:what|which|today'?s|current|tell me the)\b.{0,20}\b(?:time|date|day|weekday|month|year)\b`,
  String.raw`\b(?:how (?:many|long)|days|weeks|hours|minutes)\b.{0,40}\b(?:until|till|since|between|before|ago|left|old|christmas|easter)\b`,
  String.raw`\b(?:qué (?:hora|fecha|día)|cuántos días|que (?:horas|dia|data)|quantos dias|quelle (?:heure|date)|quel jour|combien de jours)\b`,
  String.raw`\b(?:wie spät|wie viel uhr|wieviel uhr|welche[rsn]? (?:tag|datum)|welches datum|wie viele tage|che (?:ora|ore|giorno)|quanti giorni)\b`,
  String.raw`\b(?:hoe laat|welke (?:dag|datum)|hoeveel dagen|która (?:jest )?godzina|jaki (?:dziś|dzisiaj|jest)|ile dni|saat kaç|hangi gün|kaç gün)\b`,
  String.raw`\b(?:jam berapa|hari apa|tanggal berapa|berapa hari|mấy giờ|ngày mấy|thứ mấy|bao nhiêu ngày)\b`,
  'который час|сколько времени|какое (?:сегодня )?число|какой (?:сегодня )?день|сколько дней|котра година|яке (?:сьогодні )?число|який (?:сьогодні )?день|скільки днів',
  'كم الساعة|ما (?:هو )?التاريخ|أي يوم|كم يوم|מה השעה|מה התאריך|איזה יום|כמה ימים',
  'कितने बजे|कौन सा दिन|क्या तारीख|कितने दिन|কয়টা বাজে|কটা বাজে|কত তারিখ|কত দিন',
  '几点|幾點|几号|幾號|星期几|星期幾|多少天|几天|幾天|何時(?:ですか)?|何日|何曜日|몇 시|며칠|무슨 요일',
].map((pattern) => new RegExp(pattern, 'iu'))

/**
 * Whether a message may need one of the `assistTools`. It is meant for offering tools only then: small models
 * call them for anything, and reading their descriptions takes time.
 */
export function needsTool(message: string): boolean {
  if (message.length > LONGEST) return false
  return (
    (ASKS.test(message) && HAS_NUMBER.test(message)) ||
    MEASURED.test(message) ||
    CALENDAR.some((form) => form.test(message))
  )
}
