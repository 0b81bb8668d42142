// Styles. Out: the rules shared by the page and the widget, for the page's tree or the widget's shadow root.
// Lengths are in em, because a widget inherits the font size of its page.
import { css } from 'lit'

/** A page that uses the widget may override some of these. */
const tokens = css`
  :root,
  :host {
    --ink: var(--halfbyte-text, light-dark(#1a1d1b, #e8ebe9));
    --ink-soft: var(--halfbyte-text-soft, light-dark(#59605c, #a7afab));
    --paper: var(--halfbyte-background, light-dark(#fcfcfa, #121514));
    --panel: var(--halfbyte-surface, light-dark(#f1f3f0, #1b201e));
    --panel-strong: color-mix(in srgb, var(--ink) 6%, var(--panel));
    --line: var(--halfbyte-line, light-dark(#dcdfda, #323a36));
    --edge: light-dark(#868f8a, #6f7a75);
    --accent: var(--halfbyte-accent, light-dark(#0b6b4f, #63d6ab));
    --on-accent: var(--halfbyte-on-accent, light-dark(#ffffff, #06231a));
    --mine: var(--halfbyte-user-background, light-dark(#dcefe6, #17382d));
    --on-mine: var(--halfbyte-user-text, var(--ink));
    --danger: light-dark(#a81f1f, #ff9d94);
    --danger-ground: light-dark(#fdeeec, #35191a);
    --shadow: 0 8px 28px light-dark(rgb(20 40 30 / 14%), rgb(0 0 0 / 55%));
    --touch: 44px;
  }
  @media (prefers-contrast: more) {
    :root,
    :host {
      --ink-soft: var(--ink);
      --line: var(--edge);
      --edge: var(--ink);
    }
  }
`

const controls = css`
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  h4,
  p {
    margin: 0;
  }
  button,
  input,
  textarea,
  select {
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
  button:is(:disabled, [aria-disabled='true']) {
    opacity: 0.5;
    cursor: default;
  }
  button:is(.primary, .round) {
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
    min-height: 36px;
    min-width: 36px;
    padding: 0 8px;
    border-radius: 10px;
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  .copy span {
    display: inline-flex;
    align-items: center;
    gap: inherit;
  }
  .copy.done > :first-child,
  .copy:not(.done) > :last-child {
    display: none;
  }
  @media (hover: hover) {
    button:hover:not(:disabled, [aria-disabled='true']) {
      background: var(--panel-strong);
    }
    button:is(.primary, .round):hover:not(:disabled, [aria-disabled='true']) {
      background: color-mix(in srgb, var(--accent) 88%, var(--ink));
    }
  }
  @media (pointer: coarse) {
    button.small,
    summary {
      min-height: var(--touch);
    }
  }
  ::placeholder {
    color: var(--ink-soft);
    opacity: 1;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  a {
    color: var(--accent);
    text-underline-offset: 2px;
  }
  summary {
    display: flex;
    align-items: center;
    gap: 6px;
    min-height: 32px;
    cursor: pointer;
    list-style: none;
  }
  summary::-webkit-details-marker {
    display: none;
  }
  summary::after {
    content: '';
    flex: none;
    width: 6px;
    height: 6px;
    margin-inline: 4px;
    border: solid currentColor;
    border-width: 0 1.5px 1.5px 0;
    transform: translateY(-2px) rotate(45deg);
  }
  details[open] > summary::after {
    transform: translateY(1px) rotate(225deg);
  }
  progress {
    display: block;
    width: 100%;
    height: 6px;
    border: 0;
    border-radius: 3px;
    overflow: hidden;
    background: var(--panel-strong);
    accent-color: var(--accent);
  }
  progress::-webkit-progress-bar {
    background: var(--panel-strong);
  }
  progress::-webkit-progress-value {
    border-radius: 3px;
    background: var(--accent);
  }
  progress::-moz-progress-bar {
    border-radius: 3px;
    background: var(--accent);
  }
  .icon {
    flex: none;
    width: var(--icon);
    height: var(--icon);
    fill: none;
    stroke: currentColor;
    stroke-width: 1.8;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  :is(.small, summary) .icon {
    width: 16px;
    height: 16px;
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    min-height: 0;
    padding: 0;
    border: 0;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`

const frame = css`
  .log {
    overflow: hidden auto;
    overscroll-behavior: contain;
  }
  .log-inside {
    display: flex;
    flex-direction: column;
    min-height: 100%;
  }
  .to-end {
    position: absolute;
    padding: 0;
    border-color: var(--line);
    border-radius: 50%;
    background: var(--paper);
    box-shadow: var(--shadow);
  }
  .composer {
    display: flex;
    align-items: flex-end;
  }
  .composer textarea {
    flex: 1;
    min-width: 0;
    min-height: var(--touch);
    resize: none;
    field-sizing: content;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 8px;
  }
`

const messages = css`
  .message {
    overflow-wrap: anywhere;
  }
  .message.user {
    display: flex;
    flex-direction: column;
    align-items: flex-end;
  }
  .message.user .body {
    max-width: min(88%, 36em);
    padding: 8px 14px;
    border-radius: 18px;
    border-end-end-radius: 4px;
    /* Forced colours remove backgrounds, but show this. */
    outline: 1px solid transparent;
    background: var(--mine);
    color: var(--on-mine);
    white-space: pre-wrap;
  }
  .actions {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: 2px;
    margin: 2px -8px 0;
  }
  .actions button {
    white-space: nowrap;
  }
  .fold {
    display: block;
    margin: 6px -8px 0;
    text-decoration: underline;
  }
  .ending {
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  .thoughts {
    margin-block-end: 8px;
    font-size: 0.9375em;
    color: var(--ink-soft);
  }
  .thoughts > div {
    padding-inline-start: 14px;
    border-inline-start: 3px solid var(--line);
    white-space: pre-wrap;
  }
  .waiting {
    display: inline-flex;
    gap: 5px;
    padding: 8px 0;
  }
  .waiting i {
    width: 7px;
    height: 7px;
    border-radius: 50%;
    background: var(--ink-soft);
  }
  /* The place of the next word. */
  .growing .part:last-child > p:last-child::after,
  .growing .part:last-child > :is(ul, ol):last-child > li:last-child:not(:has(p, ul, ol, .code))::after {
    content: '';
    display: inline-block;
    width: 0.5em;
    height: 1em;
    margin-inline-start: 2px;
    border-radius: 2px;
    background: var(--accent);
    vertical-align: -0.15em;
  }
  @media (prefers-reduced-motion: no-preference) {
    .waiting i {
      animation: breathe 1.2s infinite ease-in-out;
    }
    .waiting i:nth-child(2) {
      animation-delay: 0.15s;
    }
    .waiting i:nth-child(3) {
      animation-delay: 0.3s;
    }
    .growing .part:last-child > p:last-child::after,
    .growing .part:last-child > :is(ul, ol):last-child > li:last-child::after {
      animation: breathe 1s infinite;
    }
  }
  @keyframes breathe {
    50% {
      opacity: 0.25;
    }
  }
`

const markdown = css`
  .message .part > * + *,
  .message .part + .part > :first-child {
    margin-block-start: 0.75em;
  }
  .message .part > * + :is(h2, h3),
  .message .part + .part > :is(h2, h3):first-child {
    margin-block-start: 1.2em;
  }
  .body :is(h2, h3) {
    font-size: 1.0625em;
    line-height: 1.35;
  }
  .body h3 {
    font-size: 1em;
  }
  .body :is(ul, ol) {
    margin: 0;
    padding-inline-start: 1.5em;
  }
  .body li + li {
    margin-block-start: 0.25em;
  }
  .body li > p + p {
    margin-block-start: 0.5em;
  }
  .body blockquote {
    margin: 0;
    padding-inline-start: 14px;
    border-inline-start: 3px solid var(--line);
    color: var(--ink-soft);
  }
  .body hr {
    border: 0;
    border-block-start: 1px solid var(--line);
  }
  .body code {
    padding: 0.1em 0.3em;
    border-radius: 5px;
    background: var(--panel);
    font:
      0.875em ui-monospace,
      'SF Mono',
      Menlo,
      Consolas,
      monospace;
  }
  .code {
    border: 1px solid var(--line);
    border-radius: var(--small-radius);
    background: var(--panel);
    overflow: hidden;
  }
  .code-head {
    display: flex;
    align-items: center;
    justify-content: space-between;
    padding-inline: 14px 4px;
    border-block-end: 1px solid var(--line);
    font-size: 0.8125em;
    color: var(--ink-soft);
  }
  .code-head button.small {
    font-size: 1em;
  }
  .code-head .done::after {
    content: '✓';
  }
  .body pre {
    margin: 0;
    padding: 12px 14px;
    overflow-x: auto;
    line-height: 1.5;
  }
  .body :is(pre, .table):focus-visible {
    outline-offset: -2px;
  }
  .body pre code {
    padding: 0;
    background: none;
    overflow-wrap: normal;
  }
  .body .formula {
    display: block;
    padding: 6px 2px;
    overflow-x: auto;
  }
  .body .table {
    overflow-x: auto;
  }
  .body table {
    width: max-content;
    max-width: 160%;
    border-collapse: collapse;
    font-size: 0.9375em;
    line-height: 1.4;
  }
  .body :is(th, td) {
    padding: 6px 12px;
    border: 1px solid var(--line);
    text-align: start;
    overflow-wrap: normal;
  }
  .body th {
    background: var(--panel);
  }
  .body .left {
    text-align: left;
  }
  .body .center {
    text-align: center;
  }
  .body .right {
    text-align: right;
  }
  .body .task {
    list-style: none;
  }
  .body .task > input {
    width: 1em;
    min-height: 1em;
    height: 1em;
    margin-inline: -1.375em 0.375em;
    vertical-align: -0.1em;
    accent-color: var(--accent);
  }
`

/** In cascade order; the page's or the widget's own rules come after these. */
export const chatStyles = [tokens, controls, frame, messages, markdown]
