/** Formats a handle as Messages stores it: phone numbers without separators, email addresses in lower case. */
export function normalizeHandle(handle: string): string {
  const trimmed = handle.trim();
  return trimmed.includes('@') ? trimmed.toLowerCase() : trimmed.replaceAll(/[\s().-]/g, '');
}

export function isHandle(handle: string): boolean {
  return /^\+?\d{3,15}$/.test(handle) || isEmail(handle);
}

export function isEmail(handle: string): boolean {
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(handle);
}

/** Fewer digits are a short code, which is not the end of a longer number. */
const MIN_NATIONAL_DIGITS = 8;

/** Whether two handles are one address. A number without a country code equals the international number that ends with it. */
export function isSameHandle(one: string, other: string): boolean {
  const [a, b] = [normalizeHandle(one), normalizeHandle(other)];
  return a === b || isNationalFormOf(a, b) || isNationalFormOf(b, a);
}

function isNationalFormOf(national: string, international: string): boolean {
  if (!international.startsWith('+') || !/^\d+$/.test(national)) return false;
  const digits = national.replace(/^0+/, '');
  return digits.length >= MIN_NATIONAL_DIGITS && international.endsWith(digits);
}
