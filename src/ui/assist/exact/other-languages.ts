// Questions in other languages. In: a question such as "combien font 12 fois 13 ?". Out: the same question in
// English, or none. Every word must be known: a question with words that remain in the other language is not
// answered.

interface Wording {
  /** Words that ask for a value, before and after the sum. */
  readonly before: string
  readonly after?: string
  readonly plus: string
  readonly minus: string
  readonly times: string
  readonly over: string
  /** Between a percentage and its base. */
  readonly of: string
  readonly percent?: string
  readonly root: string
  /** "How many days until", and the names of the days. */
  readonly until?: string
  readonly christmas?: string
  readonly eve?: string
  readonly newYear?: string
  /** "What time is it". */
  readonly time?: string
  /** "How many A are B": the word between. Units are read in all languages. */
  readonly howMany?: string
  readonly are?: string
}

const WORDINGS: readonly Wording[] = [
  {
    before: 'cu[aá]nto (?:es|son|da|vale)|cu[aá]l es|calcula',
    plus: 'm[aá]s',
    minus: 'menos',
    times: 'por|multiplicado por',
    over: 'entre|dividido (?:por|entre)',
    of: 'de',
    percent: 'por ?ciento',
    root: '(?:la )?ra[ií]z cuadrada de',
    until: 'cu[aá]ntos d[ií]as (?:faltan|quedan) (?:para|hasta)(?: la)?',
    christmas: 'navidad',
    eve: 'nochevieja|fin de año',
    newYear: 'año nuevo',
    time: 'qu[eé] hora es',
    howMany: 'cu[aá]nt[ao]s',
    are: 'son|hay en|equivalen a',
  },
  {
    before: 'quanto (?:é|e|são|sao|d[aá])|qual (?:é|e)|calcule',
    plus: 'mais',
    minus: 'menos',
    times: 'vezes|multiplicado por',
    over: 'dividido por',
    of: 'd[eo]',
    percent: 'por cento',
    root: '(?:a )?raiz quadrada de',
    until: 'quantos dias (?:faltam|restam) (?:para|até)(?: o)?',
    christmas: 'natal',
    eve: 'réveillon|véspera de ano novo',
    newYear: 'ano novo',
    time: 'que horas são',
    howMany: 'quant[ao]s',
    are: 'são|há em|tem em',
  },
  {
    before: "combien (?:font|fait|font-ils|c'est)|quel(?:le)? est|calcule|ça fait combien",
    plus: 'plus',
    minus: 'moins',
    times: 'fois|multiplié par',
    over: 'divisé par',
    of: 'de',
    percent: 'pour ?cent',
    root: '(?:la )?racine carrée de',
    until: "combien de jours (?:avant|jusqu'à|d'ici)(?: la| le)?|combien de jours reste-t-il avant(?: le)?",
    christmas: 'noël',
    eve: 'la saint-sylvestre|saint-sylvestre',
    newYear: "(?:le )?nouvel an|le jour de l'an",
    time: 'quelle heure est-il',
    howMany: "combien (?:de |d')",
    are: 'font|dans|y a-t-il dans|valent',
  },
  {
    before: 'was (?:ist|sind|ergibt|macht)|wie ?viel (?:ist|sind|ergibt|macht)|berechne|rechne',
    plus: 'plus',
    minus: 'minus|weniger',
    times: 'mal',
    over: 'geteilt durch|durch',
    of: 'von',
    percent: 'prozent',
    root: '(?:die )?(?:quadrat)?wurzel (?:aus|von)',
    until: 'wie ?viele tage (?:sind es )?(?:noch )?bis(?: zu[mr])?',
    christmas: 'weihnachten',
    eve: 'silvester',
    newYear: 'neujahr',
    time: 'wie spät ist es|wie viel uhr ist es',
    howMany: 'wie ?viele?',
    are: 'sind|hat|haben|entsprechen',
  },
  {
    before: "quanto (?:fa|è|fanno|vale)|qual è|quant'è|calcola",
    plus: 'più',
    minus: 'meno',
    times: 'per|moltiplicato per',
    over: 'diviso(?: per)?',
    of: "d[ie]|dei|del|dell[aeo]|dell'",
    percent: 'per ?cento',
    root: '(?:la )?radice quadrata di',
    until: 'quanti giorni (?:mancano|ci sono|restano) (?:a|al|alla|fino a)',
    christmas: 'natale',
    eve: 'san silvestro|ultimo dell’anno',
    newYear: 'capodanno',
    time: 'che ore sono|che ora è',
    howMany: 'quant[ie]',
    are: 'sono|ci sono in|equivalgono a',
  },
  {
    before: 'hoeveel is|wat is|bereken',
    plus: 'plus',
    minus: 'min',
    times: 'keer|maal',
    over: 'gedeeld door',
    of: 'van',
    percent: 'procent',
    root: '(?:de )?(?:vierkants)?wortel van',
    until: 'hoeveel dagen (?:is het )?(?:nog )?tot',
    christmas: 'kerst(?:mis)?',
    eve: 'oudjaar|oudejaarsavond',
    newYear: 'nieuwjaar',
    time: 'hoe laat is het',
    howMany: 'hoeveel',
    are: 'is|zijn|zitten er in|gaan er in',
  },
  {
    before: 'ile (?:to )?(?:jest )?|oblicz',
    plus: 'plus|dodać',
    minus: 'minus|odjąć',
    times: 'razy',
    over: 'podzielić (?:przez|na)|przez',
    of: 'z|od',
    percent: 'procent',
    root: 'pierwiastek (?:kwadratowy )?z(?:e)?',
    until: 'ile dni (?:zostało |jest )?do',
    christmas: '(?:świąt )?bożego narodzenia',
    eve: 'sylwestra',
    newYear: 'nowego roku',
    time: 'która (?:jest )?godzina',
  },
  {
    before: 'kaçtır|hesapla',
    after: 'kaç(?: eder| yapar|tır)?|ne kadar eder',
    plus: 'artı',
    minus: 'eksi',
    times: 'kere|çarpı',
    over: 'bölü',
    of: '(?!)',
    root: '(?!)',
    time: 'saat kaç',
  },
  {
    before: 'сколько (?:будет|это)|чему равно|вычисли|посчитай',
    after: 'сколько (?:это )?будет',
    plus: 'плюс|прибавить',
    minus: 'минус|отнять',
    times: 'умножить на',
    over: '(?:раз)?делить на|поделить на',
    of: 'от',
    percent: 'процент(?:ов|а)?',
    root: '(?:квадратный )?корень из',
    until: 'сколько дней (?:осталось )?до',
    christmas: '(?!)',
    eve: '(?!)',
    newYear: 'нового года',
    time: 'который час|сколько времени',
  },
  {
    before: 'скільки (?:буде|це)|чому дорівнює|обчисли',
    plus: 'плюс|додати',
    minus: 'мінус|відняти',
    times: 'помножити на',
    over: '(?:по|роз)ділити на',
    of: 'від',
    percent: 'відсот(?:ків|ки|ок)',
    root: '(?:квадратний )?корінь (?:з|із)',
    until: 'скільки днів (?:залишилось |лишилося )?до',
    christmas: '(?!)',
    eve: '(?!)',
    newYear: 'нового року',
    time: 'котра година',
  },
  {
    before: 'كم (?:يساوي|يكون|ناتج|حاصل)|ما (?:هو|ناتج)|احسب',
    plus: 'زائد',
    minus: 'ناقص',
    times: 'ضرب|في',
    over: 'تقسيم|قسمة|على',
    of: 'من',
    percent: 'بالمئة|بالمائة',
    root: '(?:ال)?جذر (?:ال)?تربيعي ل',
    time: 'كم الساعة',
  },
  {
    before: 'כמה (?:זה|שווה|הם)|מה (?:זה|הם)|חשב',
    plus: 'ועוד|פלוס',
    minus: 'פחות|מינוס',
    times: 'כפול',
    over: 'חלקי|לחלק ל',
    of: 'מתוך|של|מ',
    percent: 'אחוז(?:ים)?',
    root: 'שורש(?: ריבועי)?(?: של)?',
    time: 'מה השעה',
  },
  {
    before: '(?!)',
    after: 'कितना (?:होता )?(?:है|होगा)|क्या (?:होगा|है)|कितने होते हैं',
    plus: 'जमा|प्लस',
    minus: 'घटा|माइनस',
    times: 'गुणा|गुना',
    over: 'भाग|बटा',
    of: 'का',
    percent: 'प्रतिशत',
    root: '(?!)',
  },
  {
    before: 'berapa(?:kah)?(?: hasil(?: dari)?)?|hitung',
    after: 'berapa|sama dengan(?: berapa)?',
    plus: 'tambah|ditambah',
    minus: 'kurang|dikurangi',
    times: 'kali|dikali',
    over: 'bagi|dibagi',
    of: 'dari',
    percent: 'persen',
    root: 'akar(?: kuadrat)?(?: dari)?',
    until: 'berapa hari lagi (?:sampai|menuju)?',
    christmas: 'natal',
    eve: '(?!)',
    newYear: 'tahun baru',
    time: 'jam berapa(?: sekarang)?',
  },
  {
    before: 'tính',
    after: 'bằng (?:mấy|bao nhiêu)|là (?:mấy|bao nhiêu)',
    plus: 'cộng',
    minus: 'trừ',
    times: 'nhân',
    over: 'chia',
    of: 'của',
    percent: 'phần trăm',
    root: 'căn bậc hai của',
    time: 'mấy giờ rồi',
  },
  {
    before: '多少是|计算|請問|请问',
    after: '(?:等于|等於|是)(?:多少|几|幾)',
    plus: '加',
    minus: '减去?|減去?',
    times: '乘以?',
    over: '除以',
    of: '的',
    root: '根号',
    time: '现在几点了?|現在幾點了?',
  },
  {
    before: '計算して',
    after: '(?:は|って)(?:いくつ|何|なに|いくら|幾つ)?(?:ですか|になる|になりますか)?',
    plus: '足す|たす',
    minus: '引く|ひく',
    times: '掛ける|かける',
    over: '割る|わる',
    of: 'の',
    percent: 'パーセント',
    root: 'ルート',
    time: '今何時(?:ですか)?',
  },
  {
    before: '계산해',
    after: '(?:은|는|이|가)? ?(?:얼마(?:야|예요|입니까|지)?|몇(?:이야|이에요)?)?',
    plus: '더하기',
    minus: '빼기',
    times: '곱하기',
    over: '나누기',
    of: '의',
    percent: '퍼센트',
    root: '루트',
    time: '지금 몇 시(?:야|예요)?',
  },
]

/** Names of units in other languages with the English ones. */
const UNITS: readonly (readonly [string, string])[] = [
  ['pulgadas?|polegadas?|pouces?|zoll|pollic[ei]', 'inches'],
  ['pies|pés|pieds?|fuß|piedi', 'feet'],
  ['millas?|milhas?|meilen?|miglia|mijlen', 'miles'],
  ['kil[oóô]metros?|kilomètres?|kilometer|chilometri|quil[oóô]metros?', 'kilometers'],
  ['cent[ií]metros?|centimètres?|zentimeter|centimeter|centimetri', 'cm'],
  ['metros?|mètres?|meter|metri', 'meters'],
  ['libras?|livres|pfund|libbre|pond', 'pounds'],
  ['gram[oa]s?|grammes?|gramm|grammi', 'grams'],
  ['litros?|litres?|liter|litri', 'liters'],
  ['minutos?|minuten|minuti', 'minutes'],
  ['segundos?|secondes?|sekunden|secondi|seconden', 'seconds'],
  ['horas?|heures?|stunden?|ore|uur', 'hours'],
]

const FIGURE = String.raw`-?\d+(?:[.,]\d+)?%?`
const all = (source: string, flags = 'giu') => new RegExp(source, flags)
/** 1.250 is a thousand in some countries and little more than 1 in others; so is 1,250. */
const AMBIGUOUS = /\d[.,]\d{3}(?!\d)/
/** A word, or in scripts without spaces, letters between figures. */
const between = (words: string) => all(`(?<=[\\d%)]\\s*(?:['’]\\p{L}+\\s*)?)(?:${words})(?=\\s*[\\d(√])`)

const inEnglish = (text: string): string =>
  UNITS.reduce((named, [names, unit]) => named.replace(all(`(?<!\\p{L})(?:${names})(?!\\p{L})`), unit), text)

function sumOf(text: string, wording: Wording): string | undefined {
  const { before, after = '(?!)', plus, minus, times, over, of, percent = '(?!)', root } = wording
  const bare = text
    .replace(all(`^(?:${before})(?![a-zà-ÿ])\\s*`), '')
    .replace(all(`(?:\\s*(?:${after}))?[\\s?？=.]*$`), '')
    .replace(/^(?:el|la|o|a|il|les?|l'|die|der|das|het|de) (?=\d)/iu, '')
    .replace(all(`^(?:${root})\\s*(?=\\d)`), '√')
  const signed = bare
    .replace(all(`\\s*(?:${percent})`), '%')
    .replace(all(`(?<=%)\\s*(?:${of})\\s*(?=\\d)`), ' of ')
    .replace(all(`^(\\d+(?:[.,]\\d+)?)\\s*(?:${of})\\s*(\\d+(?:[.,]\\d+)?%)$`), '$2 of $1')
    .replace(between(plus), ' + ')
    .replace(between(minus), ' - ')
    .replace(between(over), ' / ')
    .replace(between(times), ' * ')
  // Without a question, only signs that are used for nothing else make a text a sum.
  const isAsked = bare !== text || (signed !== bare && !/\p{Script=Latin}/u.test(text))
  const isSum = all(`^(?:√?${FIGURE}|[-+*/ ()]|of )+$`).test(signed)
  return isAsked && isSum && /[+*/√]| - |of/.test(signed) ? `what is ${signed}` : undefined
}

function daysOf(text: string, { until, christmas, eve, newYear }: Wording): string | undefined {
  if (until === undefined) return undefined
  const found = all(`^(?:${until}) (.+?)[\\s?？]*$`).exec(text)
  const day = found?.at(-1)
  if (day === undefined) return undefined
  const named = [
    [christmas, 'christmas'],
    [eve, "new year's eve"],
    [newYear, "new year's day"],
  ].find(([name]) => name !== undefined && all(`^(?:${name})$`).test(day))
  return named && `how many days until ${named[1]}`
}

function conversionOf(text: string, { howMany, are }: Wording): string | undefined {
  if (howMany === undefined) return undefined
  const found = all(`^(?:${howMany}) ?(\\p{L}+) (?:${are}) (\\d+(?:[.,]\\d+)?) (\\p{L}+)[\\s?]*$`).exec(text)
  if (found === null) return undefined
  const [unit, amount, from] = found.slice(-3)
  return `how many ${inEnglish(unit!)} are ${amount} ${inEnglish(from!)}`
}

/** The English question; undefined if the text is not one of these in a known language. */
export function questionInEnglish(question: string): string | undefined {
  const text = question
    .trim()
    .replace(/^¿/, '')
    .replaceAll(/(?<=\d)\s+(?=%)/g, '')
    .toLowerCase()
  if (AMBIGUOUS.test(text)) return undefined
  for (const wording of WORDINGS) {
    if (wording.time !== undefined && all(`^(?:${wording.time})[\\s?？]*$`).test(text))
      return 'what time is it'
    const asked = daysOf(text, wording) ?? conversionOf(text, wording) ?? sumOf(text, wording)
    if (asked !== undefined) return asked
  }
  return undefined
}
