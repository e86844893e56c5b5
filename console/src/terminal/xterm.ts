/** xterm.js as the console uses it: in the theme, within the page's policy. Loaded when a terminal is. */

import { FitAddon } from '@xterm/addon-fit';
import { type ITheme, Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { shade } from '@/shell/theme';
import { access } from '@/strings';
import { openStrictly, strictDocument } from './sheets';

const THEMES: Record<'light' | 'dark', ITheme> = {
  light: {
    background: '#fbfbf9',
    foreground: '#191a19',
    cursor: '#0f766e',
    cursorAccent: '#ffffff',
    selectionBackground: '#b9e0da',
    black: '#191a19',
    red: '#b42318',
    green: '#13713a',
    yellow: '#8a5a00',
    blue: '#1d5fbf',
    magenta: '#8b2fb8',
    cyan: '#0e7490',
    white: '#5c5e5b',
    brightBlack: '#686a67',
    brightRed: '#c8372b',
    brightGreen: '#17803f',
    brightYellow: '#92500a',
    brightBlue: '#2f6fd0',
    brightMagenta: '#9a3fc6',
    brightCyan: '#0f766e',
    brightWhite: '#191a19',
  },
  dark: {
    background: '#101213',
    foreground: '#ededeb',
    cursor: '#2dd4bf',
    cursorAccent: '#04211d',
    selectionBackground: '#1f4d48',
    black: '#26292b',
    red: '#ff8d80',
    green: '#4ade80',
    yellow: '#f5b453',
    blue: '#7fb2ff',
    magenta: '#d8b4fe',
    cyan: '#67e8f9',
    white: '#d6d8d7',
    brightBlack: '#979b9c',
    brightRed: '#ffb0a6',
    brightGreen: '#86efac',
    brightYellow: '#fbd38d',
    brightBlue: '#a9ccff',
    brightMagenta: '#e9d5ff',
    brightCyan: '#a5f3fc',
    brightWhite: '#ffffff',
  },
};

export interface Screen {
  terminal: Terminal;
  /** To be put where the terminal shall be; it may move. */
  element: HTMLElement;
  fit: () => void;
  /** Screen readers are told what is printed. It costs time while much is. */
  readAloud: (isOn: boolean) => void;
  dispose: () => void;
}

interface Options {
  label: string;
  /** Only shown, never typed into. */
  isStill?: boolean;
}

export function createScreen({ label, isStill = false }: Options): Screen {
  const element = document.createElement('div');
  element.className = 'size-full';
  const terminal = new Terminal({
    documentOverride: strictDocument,
    fontFamily: '"JetBrains Mono Variable", ui-monospace, Menlo, monospace',
    fontSize: 13,
    lineHeight: 1.15,
    theme: THEMES[shade.get()],
    minimumContrastRatio: 4.5,
    // bound: lines that can be scrolled back to
    scrollback: isStill ? 1_000 : 5_000,
    cursorBlink: false,
    disableStdin: isStill,
    // Nothing else says what a recording shows; a shell's reader chooses.
    screenReaderMode: isStill,
    macOptionIsMeta: true,
    rightClickSelectsWord: true,
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  openStrictly(terminal, element);
  terminal.textarea?.setAttribute('aria-label', label);
  if (isStill) terminal.textarea?.setAttribute('tabindex', '-1');
  else terminal.textarea?.setAttribute('aria-description', access.terminal.leaveHint);
  const unsubscribe = shade.subscribe(() => {
    terminal.options.theme = THEMES[shade.get()];
  });
  return {
    terminal,
    element,
    fit: () => {
      if (element.isConnected && element.clientWidth > 0) fitting.fit();
    },
    readAloud: (isOn) => {
      terminal.options.screenReaderMode = isOn;
    },
    dispose: () => {
      unsubscribe();
      terminal.dispose();
      element.remove();
    },
  };
}
