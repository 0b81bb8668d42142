// Styles: colours, type, plain elements, the frame. In: the page's custom properties. Out: a sheet that
// belongs to the element alone, so no policy on inline styles concerns it.
import { css } from 'lit'

export const baseStyles = css`
  :host {
    --accent: var(--halfbyte-accent, light-dark(#0b6b4f, #63d6ab));
    --on-accent: var(--halfbyte-on-accent, light-dark(#ffffff, #06231a));
    --paper: var(--halfbyte-background, light-dark(#fcfcfa, #151918));
    --panel: var(--halfbyte-surface, light-dark(#f1f3f0, #1f2523));
    --panel-strong: color-mix(in srgb, var(--ink) 9%, var(--panel));
    --ink: var(--halfbyte-text, light-dark(#1a1d1b, #e8ebe9));
    --ink-soft: var(--halfbyte-text-soft, light-dark(#59605c, #a7afab));
    --line: var(--halfbyte-line, light-dark(#dcdfda, #343c38));
    --edge: light-dark(#868f8a, #6f7a75);
    --mine: var(--halfbyte-user-background, light-dark(#dcefe6, #17382d));
    --on-mine: var(--halfbyte-user-text, var(--ink));
    --danger: light-dark(#a81f1f, #ff9d94);
    --danger-ground: light-dark(#fdeeec, #35191a);
    --radius: var(--halfbyte-radius, 16px);
    --small-radius: min(var(--radius), 12px);
    --touch: 44px;

    display: block;
    box-sizing: border-box;
    color: var(--ink);
    font-family: var(--halfbyte-font, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif);
    font-size: var(--halfbyte-font-size, 16px);
    font-weight: 400;
    font-style: normal;
    line-height: 1.5;
    letter-spacing: normal;
    word-spacing: normal;
    text-align: start;
    text-transform: none;
    text-indent: 0;
    white-space: normal;
    -webkit-text-size-adjust: 100%;
    text-size-adjust: 100%;
  }
  :host([hidden]) {
    display: none;
  }
  :host([theme='light']) {
    color-scheme: light;
  }
  :host([theme='dark']) {
    color-scheme: dark;
  }
  :host([theme='auto']) {
    color-scheme: light dark;
  }
  :host([mode='inline']) {
    height: var(--halfbyte-height, 560px);
    min-height: 240px;
  }
  :host([mode='bubble']) {
    position: fixed;
    inset-block-end: var(--halfbyte-inset, 20px);
    inset-inline-end: var(--halfbyte-inset, 20px);
    z-index: var(--halfbyte-z-index, 1000);
  }
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  [hidden] {
    display: none !important;
  }
  p,
  h2,
  h3,
  ol,
  ul,
  pre,
  blockquote {
    margin: 0;
  }

  .panel {
    display: grid;
    grid-template-rows: auto minmax(0, 1fr) auto auto;
    height: 100%;
    border: 1px solid var(--line);
    border-radius: var(--radius);
    background: var(--paper);
    overflow: hidden;
  }
  :host([mode='bubble']) .panel {
    position: absolute;
    inset-block-end: calc(100% + 12px);
    inset-inline-end: 0;
    width: min(var(--halfbyte-width, 390px), calc(100vw - 2 * var(--halfbyte-inset, 20px)));
    height: min(var(--halfbyte-height, 620px), calc(100dvh - 2 * var(--halfbyte-inset, 20px) - 68px));
    box-shadow: 0 12px 40px light-dark(rgb(20 40 30 / 18%), rgb(0 0 0 / 60%));
  }
  .launcher {
    width: 56px;
    height: 56px;
    padding: 0;
    border-radius: 50%;
    background: var(--accent);
    color: var(--on-accent);
    box-shadow: 0 6px 20px light-dark(rgb(20 40 30 / 28%), rgb(0 0 0 / 60%));
  }
  .launcher .icon {
    width: 26px;
    height: 26px;
  }
  @media (max-width: 480px) {
    :host([mode='bubble']) .panel {
      position: fixed;
      inset: 0;
      width: auto;
      height: 100dvh;
      border: 0;
      border-radius: 0;
      padding-block-end: env(safe-area-inset-bottom);
    }
  }

  .bar {
    display: flex;
    align-items: center;
    gap: 4px;
    min-height: 52px;
    padding-inline: 16px 6px;
    border-block-end: 1px solid var(--line);
  }
  .bar h2 {
    flex: 1;
    min-width: 0;
    font-size: 1em;
    font-weight: 600;
    line-height: 1.3;
    overflow: hidden;
    text-overflow: ellipsis;
    white-space: nowrap;
  }

  button,
  textarea {
    margin: 0;
    font: inherit;
    color: inherit;
    letter-spacing: inherit;
  }
  button {
    display: inline-flex;
    align-items: center;
    justify-content: center;
    gap: 6px;
    min-height: var(--touch);
    min-width: var(--touch);
    padding: 0 14px;
    border: 1px solid transparent;
    border-radius: var(--small-radius);
    background: none;
    cursor: pointer;
    touch-action: manipulation;
    -webkit-tap-highlight-color: transparent;
  }
  button:disabled {
    opacity: 0.45;
    cursor: default;
  }
  button.primary,
  button.round {
    background: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
  }
  button.round {
    flex: none;
    padding: 0;
    border-radius: 50%;
  }
  button.outline {
    border-color: var(--edge);
    background: var(--paper);
  }
  button.quiet {
    flex: none;
    padding: 0;
    color: var(--ink-soft);
  }
  button.small {
    min-height: 32px;
    min-width: 32px;
    padding: 0 8px;
    border-radius: 8px;
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  @media (hover: hover) {
    button:hover:not(:disabled) {
      background: var(--panel-strong);
    }
    button.primary:hover:not(:disabled),
    button.round:hover:not(:disabled),
    button.launcher:hover {
      background: color-mix(in srgb, var(--accent) 88%, var(--ink));
    }
  }
  @media (pointer: coarse) {
    button.small,
    summary {
      min-height: var(--touch);
    }
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
    text-underline-offset: 2px;
  }
  .icon {
    flex: none;
    width: 20px;
    height: 20px;
    fill: none;
    stroke: currentColor;
    stroke-width: 1.8;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  .small .icon,
  summary .icon {
    width: 16px;
    height: 16px;
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  @media (prefers-reduced-motion: no-preference) {
    .panel:not([hidden]) {
      animation: appear 0.16s ease-out;
    }
    :host([mode='inline']) .panel {
      animation: none;
    }
  }
  @keyframes appear {
    from {
      opacity: 0;
      transform: translateY(8px);
    }
  }
`
