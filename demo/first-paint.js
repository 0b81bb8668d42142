// First paint. In: what earlier visits left in localStorage. Out: attributes of the page that its first paint
// needs.
{
  const read = (key) => {
    try {
      return localStorage.getItem(key) ?? ''
    } catch {
      return ''
    }
  }
  const { dataset } = document.documentElement
  const theme = /"theme":"(light|dark)"/.exec(read('halfbyte-settings'))
  if (theme !== null) dataset.theme = theme[1]
  const chosen = /"language":"(en|he)"/.exec(read('halfbyte-settings'))?.[1]
  const tag = chosen ?? navigator.languages.find((language) => /^(en|he|iw)\b/.test(language)) ?? 'en'
  if (!tag.startsWith('en')) Object.assign(document.documentElement, { lang: 'he', dir: 'rtl' })
  if (Number(read('halfbyte-chats')) > 0) dataset.returning = ''
  if (!['', 'Halfbyte Stories'].includes(read('halfbyte-last-model'))) dataset.otherModel = ''
}
