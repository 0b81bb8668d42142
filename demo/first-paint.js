// First paint. In: data that earlier visits left in localStorage. Out: page attributes needed for the first
// paint, and an error message if its scripts do not load.
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
  // By language; inline.ts fills them in.
  const sentences = { __UNLOADED__: '' }
  const languageFor = (tag) => {
    try {
      const { language, script } = new Intl.Locale(tag).maximize()
      const code = language === 'zh' ? `zh-${script}` : language
      return Object.hasOwn(sentences, code) ? code : undefined
    } catch {
      return undefined
    }
  }
  const chosen = /"language":"([\w-]+)"/.exec(read('halfbyte-settings'))?.[1]
  const lang = [chosen, ...navigator.languages].map(languageFor).find((known) => known !== undefined) ?? 'en'
  Object.assign(document.documentElement, { lang, dir: /^(?:ar|he)/.test(lang) ? 'rtl' : 'ltr' })
  if (Number(read('halfbyte-chats')) > 0) dataset.returning = ''
  const unloaded = ({ target }) => {
    const line = document.querySelector('.shell .stats')
    if (line === null || !(target instanceof HTMLScriptElement || target === window)) return
    line.setAttribute('role', 'alert')
    // Style sheets may be missing too.
    const shown = { visibility: 'visible', background: 'Canvas', color: 'CanvasText' }
    Object.assign(line.style, shown, {
      position: 'fixed',
      inset: 'auto 0 0',
      height: 'auto',
      padding: '1rem',
    })
    line.textContent = sentences[document.documentElement.lang]
  }
  addEventListener('error', unloaded, true)
  addEventListener('unhandledrejection', unloaded)
  if (!['', 'Halfbyte Stories'].includes(read('halfbyte-last-model'))) dataset.otherModel = ''
}
