import { expect, it } from 'vitest';
import { maskHandle } from './mask-handle.ts';

it.each([
  ['+14155550100', '+1•••0100'],
  ['+4915112345678', '+4•••5678'],
  ['4155550100', '•••0100'],
  ['12345', '•••5'],
  ['911', '•••1'],
  ['jo.doe@example.com', 'j•••@e•••'],
  ['@', '•••@'],
  ['', '•••'],
])('maskHandle masks %j as %j', (handle, masked) => {
  expect(maskHandle(handle)).toBe(masked);
});
