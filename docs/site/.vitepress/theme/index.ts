// The site's theme: VitePress's own, in the chat page's colours and the system's fonts.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './theme.css'

export default DefaultTheme
