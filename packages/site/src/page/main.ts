import './site.css';

import { theme, toggleTheme } from '@footbridge/ui/theme';

import { addCopyButtons } from './copy-buttons.ts';
import { startSearch } from './search-box.ts';

/** On narrower screens the menu starts closed. */
const WIDE = matchMedia('(min-width: 60rem)');

function start(): void {
  const button = find('#theme');
  button.hidden = false;
  button.setAttribute('aria-label', 'Switch between the light and the dark theme');
  button.addEventListener('click', toggleTheme);
  theme.subscribe((value) => (button.textContent = value === 'dark' ? '☀' : '☾'));

  const menu = find('.menu');
  const fit = () => menu.toggleAttribute('open', WIDE.matches);
  WIDE.addEventListener('change', fit);
  fit();

  startSearch(find('#search'));
  addCopyButtons(document.querySelectorAll('pre'));
}

function find(selector: string): HTMLElement {
  const element = document.querySelector<HTMLElement>(selector);
  if (element === null) throw new Error(`${selector} is missing`);
  return element;
}

// The script is loaded in the head, so that the theme is applied before the first paint.
document.addEventListener('DOMContentLoaded', start);
