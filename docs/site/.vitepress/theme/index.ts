// The theme. In: VitePress's own. Out: the same in the chat page's colours and the system's fonts.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './theme.css'

export default DefaultTheme
