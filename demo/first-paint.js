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
  if (Number(read('halfbyte-chats')) > 0) dataset.returning = ''
  if (!['', 'Halfbyte Stories'].includes(read('halfbyte-last-model'))) dataset.otherModel = ''
}
