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
  const chosen = /"language":"(en|he)"/.exec(read('halfbyte-settings'))?.[1]
  const tag = chosen ?? navigator.languages.find((language) => /^(en|he|iw)\b/.test(language)) ?? 'en'
  if (!tag.startsWith('en')) Object.assign(document.documentElement, { lang: 'he', dir: 'rtl' })
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
    line.textContent = tag.startsWith('en')
      ? 'A part of this page could not be loaded. Check the connection, then reload the page.'
      : 'חלק מהדף לא נטען. בדקו את החיבור וטענו את הדף מחדש.'
  }
  addEventListener('error', unloaded, true)
  addEventListener('unhandledrejection', unloaded)
  if (!['', 'Halfbyte Stories'].includes(read('halfbyte-last-model'))) dataset.otherModel = ''
}
