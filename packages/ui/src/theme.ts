import { effect, signal } from '@preact/signals';

type Theme = 'light' | 'dark';

const KEY = 'footbridge-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const remembered = localStorage.getItem(KEY);

export const theme = signal<Theme>(
  remembered === 'light' || remembered === 'dark' ? remembered : system.matches ? 'dark' : 'light',
);

system.addEventListener('change', ({ matches }) => {
  if (localStorage.getItem(KEY) === null) theme.value = matches ? 'dark' : 'light';
});

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, theme.value);
}
